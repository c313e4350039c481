"""Every example does what its reader expects: it applies, it settles, and it goes without a trace."""

import base64
import json
import re
import secrets
from pathlib import Path

import pytest

from sindplan.cli.formats import FORMATS
from sindplan.kinds.key import FILES
from tests.arguments import sampled_arguments

pytestmark = pytest.mark.proof

EXAMPLES = Path(__file__).parents[2] / "examples"
PRIVILEGED = {"gpus"}
"""Examples that need --allow-privileged."""
WITH_SECRETS = "kitchen-sink"
_REALM = re.compile(r"(?<=\[realms\.)[a-z0-9-]+(?=\.)")


def declare(lab, name):
    """Declare an example in realms of the test's own, and under its own name, so that it may share an engine."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    for realm in sorted(set(_REALM.findall(text))):
        text = text.replace(f"[realms.{realm}.", f"[realms.{lab.realm()}.")
    text = re.sub(r'(?m)^name = ".*"$', f'name = "{lab.name}"', text)
    lab.file.write_text(text.replace("sindplan-node:26.05", lab.image), encoding="utf-8")


@pytest.mark.parametrize("name", sorted({path.stem for path in EXAMPLES.glob("*.toml")} - {WITH_SECRETS}))
def test_an_example(lab, name):
    declare(lab, name)

    assert lab.plan(code=2).counts[0] > 0
    lab.apply(*(["--allow-privileged"] if name in PRIVILEGED else []))
    lab.settled()

    lab.destroy()
    assert lab.names() == set()


def test_the_kitchen_sink_and_its_secrets(lab):
    """They are in the files that are for them, and in no output, plan, label, log or list of processes."""
    declare(lab, WITH_SECRETS)
    password = secrets.token_hex(12)
    saved, imported, there = (lab.folder / name for name in ("saved.plan", "imported.toml", "there.json"))
    (realm,) = lab.realms

    # Only an apply looks for secrets.
    outputs = [lab.plan("--out", str(saved), code=2)]
    with lab.hearing() as events, sampled_arguments() as arguments:
        outputs.append(lab.apply(SINDPLAN_SECRET_STORAGE=password))
    lab.settled()
    outputs += [lab.sindplan("plan", "-f", str(lab.file), "--format", "json"), lab.sindplan("drift", "--realm", realm)]
    outputs.append(lab.sindplan("import", realm, "--output", str(imported)))
    outputs.append(lab.sindplan("snapshot", "--out", str(there)))
    outputs += [lab.sindplan("show", str(saved), "--format", form) for form in FORMATS]
    outputs += [
        lab.sindplan("plan", "-f", str(lab.file), "--against", str(there), "--format", form) for form in FORMATS
    ]
    outputs.append(lab.sindplan("drift", "--against", str(there), "--realm", realm, "--format", "json"))

    hidden = [form for secret in (password.encode(), *keys(lab, realm)) for form in forms(secret)]
    shown = {f"output {number}": (ran.out + ran.err).encode() for number, ran in enumerate(outputs)}
    shown |= {str(path): path.read_bytes() for path in lab.folder.rglob("*") if path.is_file()}
    shown |= {"arguments": b"\n".join(arguments), "objects": described(lab), **logs(lab)}
    # Docker says each command that it runs in a container.
    shown["commands"] = "\n".join(event["Action"] for event in events).encode()
    assert {saved, imported, there} <= {path for path in lab.folder.rglob("*") if path.is_file()}
    assert [(where, form) for where, text in shown.items() for form in hidden if form in text] == []
    # What is looked through is what it is taken for: the nodes' processes, and what is written about them.
    assert b"slurmdbd" in shown["arguments"]
    assert b"sindplan" in shown["arguments"]
    assert b"sacctmgr" in shown["commands"]
    assert b"slurmdbd" in shown[f"log of {realm}-full-db"]
    assert f"StoragePass={password}" in lab.read(f"{realm}-full-controller", "cat", "/etc/slurm/slurmdbd.conf")

    lab.destroy()
    assert lab.names() == set()


def keys(lab, realm):
    """Return what the cluster's keys say: those that sindplan makes, and those of SSH."""
    controller = f"{realm}-full-controller"
    for file in FILES.values():
        if lab.engine.has_file(controller, file.path):
            yield lab.engine.get_files(controller, file.path)[file.path].content
    for container in (f"{realm}-ssh", *(name for name in lab.containers() if "-full-" in name)):
        path = "/root/.ssh/id_ed25519" if container == f"{realm}-ssh" else "/etc/ssh/ssh_host_ed25519_key"
        lines = lab.engine.get_files(container, path)[path].content.splitlines()
        # After 161 bytes that say which key it is (PROTOCOL.key of OpenSSH) comes its seed: in the fourth line of 70 characters.
        yield base64.b64decode(b"".join(lines[1:-1]))[161:193]
        yield lines[4]


def forms(secret):
    """Return a secret as it is, and as it may be written."""
    return secret, secret.hex().encode(), base64.b64encode(secret).rstrip(b"=")


def described(lab):
    """Return all that Docker says of everything: labels, arguments and environment among it."""
    objects = [lab.inspect(name) for name in lab.containers()]
    return json.dumps([*objects, *lab.networks().values(), *lab.volumes().values()]).encode()


def logs(lab):
    """Return what containers have printed and nodes have written down."""
    script = "journalctl --no-pager --all; cat /var/log/slurm/* /var/log/*.log 2>/dev/null; true"
    found = {}
    for name in lab.containers():
        written = lab.read(name, "sh", "-c", script).encode() if "-full-" in name else b""
        found[f"log of {name}"] = lab.docker.logs(name) + written
    return found
