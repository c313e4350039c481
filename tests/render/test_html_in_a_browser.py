"""The page of a plan in a real browser: opened from its file, filtered, and used with keys alone."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from selenium.webdriver.common.keys import Keys

from sindplan.render.html import html
from sindplan.render.review import Review, review
from tests import test_golden
from tests.render.chromium import Browser, chromium
from tests.render.hostile import EVIL
from tests.render.large import grown, new_clusters
from tests.render.pages import parsed

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Plans of some sizes and kinds as pages in files."""
    folder = tmp_path_factory.mktemp("pages")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder))
        small, replacing = (_golden(name) for name in ("edited-slurmdbd-conf", "image-changed"))
    large = new_clusters(24)
    assert len(small.tasks) == 2
    assert len(large.tasks) > 500
    found: dict[str, Review] = {
        "2 actions": small,
        "500 actions": large,
        "2000 nodes": grown(new_clusters(1), 2_000),
        "replacing": replacing,
        "hostile": EVIL,
        "nothing": Review(entries=()),
    }
    files = {name: folder / f"{name}.html" for name in found}
    for name, file in files.items():
        file.write_text(html(found[name]), encoding="utf-8")
    return files


def _golden(name: str) -> Review:
    return review(test_golden._prepared(test_golden.GOLDEN / name).plan)


CASES = ("2 actions", "500 actions", "2000 nodes", "replacing", "hostile", "nothing")


@pytest.mark.parametrize("case", CASES)
def test_a_page_opens_from_its_file_and_fetches_nothing(browser: Browser, pages: Mapping[str, Path], case: str) -> None:
    browser.open(pages[case])

    assert browser.errors() == []
    assert {*browser.requests()} == {browser.page}
    assert browser.js("return window.pwned") is None
    assert browser.js("return document.compatMode") == "CSS1Compat"
    # The browser finds the elements that are meant.
    there = browser.js("return [...document.querySelectorAll('*')].map((one) => one.localName)")
    assert Counter(there) == Counter(element.tag for element in parsed(pages[case].read_text(encoding="utf-8")).all())
    # The page itself is never wider than the window; the graph has a bar of its own.
    for width in (1300, 360):
        with browser.wide(width):
            assert browser.js("return document.documentElement.scrollWidth") <= width


def test_the_policy_lets_nothing_else_run(browser: Browser, pages: Mapping[str, Path], tmp_path: Path) -> None:
    text = pages["2 actions"].read_text(encoding="utf-8")
    other = tmp_path / "other.html"
    more = "<script>window.pwned = 1</script><img src='http://127.0.0.1:9/x.png'><h1 style='color: red' onclick='x()'>x</h1></body>"
    other.write_text(text.replace("</body>", more), encoding="utf-8")

    browser.open(other)

    assert browser.js("return window.pwned") is None
    refused = " ".join(browser.errors())
    assert all(what in refused for what in ("script-src", "img-src", "inline style"))
    assert {*browser.requests()} <= {browser.page, "http://127.0.0.1:9/x.png"}


SHOWN = "return [...document.querySelectorAll('#actions > li')].filter((one) => one.checkVisibility()).length"
LIT = "return document.querySelectorAll('svg a.box:not(.off)').length"


def _find(browser: Browser, text: str) -> int:
    browser.js("const find = document.querySelector('[name=find]'); find.value = ''; find.focus()")
    browser.press(text or "x\b")
    found = browser.js(SHOWN)
    assert browser.js("return document.getElementById('shown').textContent").startswith(f"{found} of ")
    assert browser.js(LIT) == found
    return int(found)


def test_text_filters_the_list_and_the_graph(browser: Browser, pages: Mapping[str, Path]) -> None:
    browser.open(pages["2000 nodes"])
    everything = browser.js(SHOWN)

    assert everything > 20
    assert 0 < _find(browser, "worker-1500") == _find(browser, "worker-[0-1999]") < everything
    assert _find(browser, "worker-2000") == 0
    assert _find(browser, "worker-01") == 0
    assert _find(browser, "node/worker-7 STARTING") == 1
    assert _find(browser, "service/worker-1999/ssh") == 1
    assert _find(browser, "service/worker-1999/nothing") == 0
    assert _find(browser, "no such thing") == 0
    assert _find(browser, "") == everything
    assert browser.errors() == []


def test_kind_and_cluster_filter_too(browser: Browser, pages: Mapping[str, Path]) -> None:
    browser.open(pages["replacing"])
    everything = browser.js(SHOWN)
    browser.js("document.querySelector('[value=replace]').click()")
    updates = browser.js(SHOWN)
    browser.js("document.querySelector('[value=update]').click()")

    assert 0 < updates < everything
    assert browser.js(SHOWN) == 0
    browser.js("document.querySelector('[type=reset]').click()")
    browser.driver.execute_async_script("setTimeout(arguments[0])")
    assert browser.js(SHOWN) == everything == browser.js(LIT)

    browser.open(pages["500 actions"])
    everything = browser.js(SHOWN)
    choose = "const one = document.querySelector('[name=scope]'); one.value = arguments[0];"
    browser.js(f"{choose} one.dispatchEvent(new Event('input', {{bubbles: true}}))", "sind/c23")

    assert 0 < browser.js(SHOWN) == browser.js(LIT) < everything / 20
    # Of the graph that part is seen.
    assert browser.js(
        "const box = document.querySelector('svg a.box:not(.off)').getBoundingClientRect();"
        "const frame = document.getElementById('graph').getBoundingClientRect();"
        "return frame.top <= box.top && box.bottom <= frame.bottom"
    )
    assert browser.errors() == []


def test_keys_are_enough(browser: Browser, pages: Mapping[str, Path]) -> None:
    browser.open(pages["500 actions"])

    browser.press(Keys.TAB)
    assert browser.focused() == "a Skip to the actions"
    browser.press(Keys.TAB, Keys.TAB)
    assert browser.focused() == "a0"
    browser.press(Keys.ARROW_DOWN, Keys.ARROW_RIGHT)
    reached = browser.focused()
    box = f"document.querySelector('a[data-box={reached}]')"
    assert browser.js("return document.querySelector(`path[data-to=${arguments[0]}].near`) !== null", reached)
    browser.press(Keys.ENTER)
    browser.driver.execute_async_script("setTimeout(arguments[0])")
    item = f"document.getElementById({box}.getAttribute('href').slice(1))"
    assert browser.js(f"return {item}.querySelector('details').open")
    assert browser.js(f"return {item}.getBoundingClientRect().top < innerHeight")

    browser.js(f"{box}.focus()")
    # One stop is the whole graph.
    browser.press(Keys.TAB)
    assert browser.focused() == "fit"
    browser.press(Keys.SPACE)
    assert browser.js("const graph = document.getElementById('graph'); return graph.scrollWidth <= graph.clientWidth")
    browser.press(Keys.TAB)
    assert browser.focused() == "input find"
    before = browser.js(SHOWN)
    browser.press("c23", Keys.TAB)
    assert 0 < browser.js(SHOWN) < before
    assert browser.focused() == "input operation"
    browser.press(Keys.SPACE)
    assert browser.js(SHOWN) == 0
    browser.press(Keys.SPACE, Keys.TAB)
    assert browser.focused().startswith("select scope")
    browser.press(Keys.TAB)
    assert browser.focused() == "open"
    browser.press(Keys.ENTER)
    assert browser.js("return [...document.querySelectorAll('li:not([hidden]) > details')].every((one) => one.open)")
    assert browser.errors() == []


# Of every element with text of its own that is seen: how its colour stands out (WCAG 2, 1.4.3).
CONTRASTS = """
const channel = (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
const colour = (text) => text.match(/[\\d.]+/g).map(Number);
const light = ([red, green, blue]) =>
  0.2126 * channel(red / 255) + 0.7152 * channel(green / 255) + 0.0722 * channel(blue / 255);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const rect = one.matches("a.box") && getComputedStyle(one.querySelector("rect")).fill;
    const found = colour(rect || getComputedStyle(one).backgroundColor);
    if (found.length === 3 || found[3] > 0) {
      return found;
    }
  }
};
const own = (element) => [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
return [...document.body.querySelectorAll("*")]
  .filter((one) => own(one) && one.localName !== "title" && one.checkVisibility())
  .map((one) => {
    const style = getComputedStyle(one);
    const [front, back] = [colour(one.localName === "text" ? style.fill : style.color), behind(one)].map(light);
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    return [ratio, one.localName, one.className.baseVal ?? one.className, one.textContent.slice(0, 40)];
  });
"""


@pytest.mark.parametrize("case", ["2 actions", "replacing", "hostile"])
def test_both_colour_schemes_are_legible(browser: Browser, pages: Mapping[str, Path], case: str) -> None:
    backgrounds = []
    for dark in (False, True):
        browser.open(pages[case], dark=dark)
        browser.js("for (const one of document.querySelectorAll('details')) { one.open = true }")
        found = browser.js(CONTRASTS)

        assert len(found) > 30
        assert [one for one in found if one[0] < 4.5] == []
        backgrounds.append(browser.js("return getComputedStyle(document.body).backgroundColor"))
    assert backgrounds == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


def test_without_javascript_everything_can_be_read(browser: Browser, pages: Mapping[str, Path]) -> None:
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.open(pages["500 actions"])
        form, shown, total, stops = browser.js(
            "return [document.getElementById('filters').checkVisibility(),"
            "[...document.querySelectorAll('#actions > li')].filter((one) => one.checkVisibility()).length,"
            "document.querySelectorAll('#actions > li').length, document.querySelectorAll('[tabindex]').length]"
        )
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})

    # Nothing is there that does nothing.
    assert not form
    assert shown == total > 400
    assert stops == 1
