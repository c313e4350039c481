"""What images have, when they do not say so by label: found out by running them once, remembered by their id."""

import json
import os
from pathlib import Path

from sindplan.engine.port import Engine
from sindplan.engine.records import ContainerSpec
from sindplan.errors import SindplanError
from sindplan.homes import home
from sindplan.kinds import labels
from sindplan.model.facts import image_facts

PROBE_SECONDS = 60.0

# One line of JSON, with what any Debian or Red Hat like image has to look with. Numbers, names and one path only: nothing that
# is read needs quoting, since whatever has another character than these have is left out.
_PROBE = """\
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/libexec
words() { sed 's/.*/"&"/' | paste -sd, -; }
numbers() {
  awk -F: '$1 ~ /^[a-zA-Z0-9_.-]+$/ && $3 ~ /^[0-9]+$/ && !seen[$1]++ { printf "%s\\"%s\\":%d", sep, $1, $3; sep = "," }' "$1"
}
present() { for name in "$@"; do command -v "$name" > /dev/null && echo "$name"; done | words; }
version=$(slurmctld -V 2> /dev/null | awk '{ print $2 }')
plugins=$(find / -xdev -path '*/slurm*/*.so' -name '*_*.so' 2> /dev/null | sed 's|.*/||; s|[.]so$||' | sort -u | words)
ids=$(awk -F: '$1 ~ /^(slurm|munge|mysql|slurmrestd)$/ { printf "%s\\"%s\\":[%d,%d]", sep, $1, $3, $4; sep = "," }' /etc/passwd)
nss=$(find / -xdev -name 'libnss_slurm.so*' 2> /dev/null | head -n 1)
db=$(mariadbd --help --verbose 2> /dev/null | awk '$1 == "datadir" && $2 ~ /^[a-zA-Z0-9_.\\/-]+$/ { print $2; exit }')
test "$db" = / || db=${db%/}
printf '{"v":1,"slurm_version":"%s","plugins":[%s],"uids":{%s}' "$version" "$plugins" "$ids"
printf ',"users":{%s},"groups":{%s}' "$(numbers /etc/passwd)" "$(numbers /etc/group)"
printf ',"tools":[%s]' "$(present dnsmasq sshd)"
printf ',"daemons":[%s]' "$(present mariadbd munged sackd slurmctld slurmd slurmdbd slurmrestd sshd)"
printf ',"nss_slurm":%s,"db_dir":"%s"}\\n' "$(test -n "$nss" && echo true || echo false)" "$db"
"""


def cached_probe(image_id: str) -> str:
    """Return what an earlier probe of an image found; empty when there was none."""
    try:
        return _path(image_id).read_text(encoding="utf-8")
    except (OSError, ValueError, SindplanError):
        return ""


def probe_image(engine: Engine, reference: str, image_id: str, token: str) -> None:
    """Run an image once, without network, and remember what it has. Raises SindplanError when it tells nothing."""
    container = engine.create_container(
        ContainerSpec(
            name=f"sindplan-probe-{token}",
            image=reference,
            labels=labels.own("", token),
            entrypoint=("/bin/sh",),
            command=("-c", _PROBE),
        )
    )
    try:
        engine.start(container)
        engine.wait_exit(container, PROBE_SECONDS)
        text = engine.logs(container, tail=1).strip()
    finally:
        engine.remove_container(container)
    if image_facts(image_id, text) is None:
        raise SindplanError(
            f"The image {reference!r} cannot be a node: it has no shell, find, sed and awk to be looked at with.",
            "Use an image with systemd and Slurm, such as the one tools/image makes.",
        )
    path = _path(image_id)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Whole or not at all: another sindplan may read it at the same time.
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps(json.loads(text)), encoding="utf-8")
    fresh.replace(path)


def _path(image_id: str) -> Path:
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if os.path.isabs(base) else home("XDG_CACHE_HOME") / ".cache"  # noqa: PTH117 - a text that may be empty
    return root / "sindplan" / "images" / f"{image_id.rpartition(':')[2]}.json"
