"""A headless Chromium of its own, driven through WebDriver, which sees no network and no profile of anybody's."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.support.wait import WebDriverWait

from tests.programs import installed

FLAGS = (
    "--headless=new",
    # Chromium refuses its sandbox to root, as CI is; the pages are ours.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1300,900",
)


class Browser:
    """What the tests do with a browser."""

    def __init__(self, driver: Chrome) -> None:
        self.driver = driver
        self.page = ""

    def open(self, file: Path, *, dark: bool = False) -> None:
        """Open a page from its file, in light or dark; what was logged before is forgotten."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.errors()
        self.requests()
        self.page = file.as_uri()
        self.driver.get(self.page)
        # Of a large file it returns while the page is still being read.
        ready = ["complete", self.page]
        wait = WebDriverWait(self.driver, timeout=30, poll_frequency=0.02)
        wait.until(lambda _: self.js("return [document.readyState, location.href]") == ready)

    @contextmanager
    def wide(self, width: int) -> Iterator[None]:
        """Give the page so many pixels."""
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        try:
            yield
        finally:
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def js(self, script: str, *arguments: object) -> Any:
        """Run a function's body in the page, as the console would."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Press keys one after the other, wherever the focus is."""
        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def errors(self) -> list[str]:
        """Return what the console says since this was asked last."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since this was asked last."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        return [one["params"]["request"]["url"] for one in events if one["method"] == "Network.requestWillBeSent"]

    def focused(self) -> str:
        """Return what has the focus: its id, the box it is, or its element."""
        return str(
            self.js(
                "const one = document.activeElement;"
                "return one.id || one.dataset.box || `${one.localName} ${one.name || one.textContent.slice(0, 20)}`"
            )
        )


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Start a browser with a new profile, and end it; where there is none, the test fails and says what to do."""
    binary, driver = installed("chromium"), installed("chromedriver")
    options = ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    started = Chrome(options=options, service=Service(driver))
    try:
        yield Browser(started)
    finally:
        started.quit()
