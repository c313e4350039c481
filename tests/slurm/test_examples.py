"""Every example does what its reader expects: it applies, it settles, and it goes without a trace."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof

EXAMPLES = Path(__file__).parents[2] / "examples"
PRIVILEGED = {"gpus"}
"""Examples that need --allow-privileged."""
SECRETS = {"kitchen-sink": {"SINDPLAN_SECRET_STORAGE": "tray-of-glasses"}}
_REALM = re.compile(r"(?<=\[realms\.)[a-z0-9-]+(?=\.)")


@pytest.mark.parametrize("name", sorted(path.stem for path in EXAMPLES.glob("*.toml")))
def test_an_example(lab, name):
    """In realms of the test's own, and under its own name, so that it may share an engine."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    for realm in sorted(set(_REALM.findall(text))):
        text = text.replace(f"[realms.{realm}.", f"[realms.{lab.realm()}.")
    text = re.sub(r'(?m)^name = ".*"$', f'name = "{lab.name}"', text)
    lab.file.write_text(text.replace("sindplan-node:26.05", lab.image), encoding="utf-8")

    # Only an apply looks for secrets.
    assert lab.plan(code=2).counts[0] > 0
    consent = ["--allow-privileged"] if name in PRIVILEGED else []
    lab.apply(*consent, **SECRETS.get(name, {}))
    lab.settled()

    lab.destroy()
    assert lab.names() == set()
