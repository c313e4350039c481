"""Rules of capabilities, devices and security options: the key and the whole message."""

from pathlib import Path

import pytest

from tests.statefile.reading import CLUSTER, HEAD, problems, read_text, said_of_cluster, write

DEVICE = 'Write "host", "host:container" or "host:container:permissions", such as "/dev/kvm:/dev/kvm:rw".'


@pytest.mark.parametrize(
    ("lines", "key", "what", "fix"),
    [
        (
            "controller.cap_add = ['CAP_SYS_NICE']",
            "controller.cap_add[0]",
            '"CAP_SYS_NICE" is not how a capability is written.',
            'Write "SYS_NICE", in capitals and without CAP_.',
        ),
        (
            "controller.cap_add = ['sys_nice']",
            "controller.cap_add[0]",
            '"sys_nice" is not how a capability is written.',
            'Write "SYS_NICE", in capitals and without CAP_.',
        ),
        (
            "controller.cap_add = ['SYS_NICEE']",
            "controller.cap_add[0]",
            '"SYS_NICEE" is not a capability.',
            'Did you mean "SYS_NICE"?',
        ),
        (
            "controller.cap_add = ['SYS_NICE', 'zzz']",
            "controller.cap_add[1]",
            '"zzz" is not a capability.',
            'Write a name of capabilities(7) without CAP_, or "ALL".',
        ),
        (
            "controller.cap_add = ['']",
            "controller.cap_add[0]",
            '"" is not a capability.',
            'Write a name of capabilities(7) without CAP_, or "ALL".',
        ),
        (
            "workers.a.cap_drop = ['NET_ADMN']",
            "workers.a.cap_drop[0]",
            '"NET_ADMN" is not a capability.',
            'Did you mean "NET_ADMIN"?',
        ),
        (
            "defaults.cap_drop = ['all']",
            "defaults.cap_drop[0]",
            '"all" is not how a capability is written.',
            'Write "ALL", in capitals and without CAP_.',
        ),
        (
            "submitter.devices = ['dev/null']",
            "submitter.devices[0]",
            '"dev/null" is not the path of a device of the Docker host.',
            DEVICE,
        ),
        (
            "submitter.devices = ['']",
            "submitter.devices[0]",
            '"" is not the path of a device of the Docker host.',
            DEVICE,
        ),
        (
            "submitter.devices = ['/']",
            "submitter.devices[0]",
            '"/" is not the path of a device of the Docker host.',
            DEVICE,
        ),
        (
            "submitter.devices = ['/dev/null', '/dev/null:x']",
            "submitter.devices[1]",
            '"x" is not the path of a device in the node.',
            DEVICE,
        ),
        (
            "submitter.devices = ['/dev/null:']",
            "submitter.devices[0]",
            '"" is not the path of a device in the node.',
            DEVICE,
        ),
        (
            "submitter.devices = ['/dev/null:/']",
            "submitter.devices[0]",
            '"/" is not the path of a device in the node.',
            DEVICE,
        ),
        (
            "submitter.devices = ['/dev/null:/dev/x:rx']",
            "submitter.devices[0]",
            '"rx" is not a permission.',
            'Write some of r, w and m, each once, such as "rw".',
        ),
        (
            "submitter.devices = ['/dev/null:/dev/x:rr']",
            "submitter.devices[0]",
            '"rr" is not a permission.',
            'Write some of r, w and m, each once, such as "rw".',
        ),
        (
            "submitter.devices = ['/dev/null:/dev/x:']",
            "submitter.devices[0]",
            '"" is not a permission.',
            'Write some of r, w and m, each once, such as "rw".',
        ),
        (
            "submitter.devices = ['/dev/null:/dev/x:r:m']",
            "submitter.devices[0]",
            '"/dev/null:/dev/x:r:m" is not a device.',
            DEVICE,
        ),
        ('submitter.devices = ["/dev/n\\u0000"]', "submitter.devices[0]", '"/dev/n\\u0000" is not a device.', DEVICE),
        (
            "submitter.devices = ['/dev/../etc']",
            "submitter.devices[0]",
            '"/dev/../etc" is not the path of a device of the Docker host.',
            DEVICE,
        ),
        (
            "db.security_opt = ['']",
            "db.security_opt[0]",
            '"" is not a security option.',
            "The options are label, apparmor, seccomp, no-new-privileges, writable-cgroups and systempaths.",
        ),
        (
            "db.security_opt = ['lable=disable']",
            "db.security_opt[0]",
            '"lable" is not a security option.',
            'Did you mean "label"?',
        ),
        (
            "db.security_opt = ['privileged']",
            "db.security_opt[0]",
            '"privileged" is not a security option.',
            "The options are label, apparmor, seccomp, no-new-privileges, writable-cgroups and systempaths.",
        ),
        ("db.security_opt = ['label']", "db.security_opt[0]", '"label" says no value.', 'Write "label=…".'),
        ("db.security_opt = ['apparmor=']", "db.security_opt[0]", '"apparmor=" says no value.', 'Write "apparmor=…".'),
        ("db.security_opt = ['seccomp:']", "db.security_opt[0]", '"seccomp:" says no value.', 'Write "seccomp=…".'),
        (
            "db.security_opt = ['label=enable']",
            "db.security_opt[0]",
            '"enable" is not a label of SELinux.',
            'Write "label=disable", or user, role, type, level or filetype and a value, such as "label=level:s0".',
        ),
        (
            "db.security_opt = ['no-new-privileges=yes']",
            "db.security_opt[0]",
            '"yes" is neither true nor false.',
            'Write "no-new-privileges=true".',
        ),
        (
            "db.security_opt = ['no-new-privileges=']",
            "db.security_opt[0]",
            '"no-new-privileges=" says no value.',
            'Write "no-new-privileges=…".',
        ),
        (
            "db.security_opt = ['writable-cgroups=false']",
            "db.security_opt[0]",
            "Nodes need writable cgroups: systemd does not boot without.",
            "Remove it: they always have them.",
        ),
        (
            "db.security_opt = ['writable-cgroups=no']",
            "db.security_opt[0]",
            "Nodes need writable cgroups: systemd does not boot without.",
            "Remove it: they always have them.",
        ),
        (
            "db.security_opt = ['systempaths=confined']",
            "db.security_opt[0]",
            '"confined" is not what Docker knows here.',
            'Write "systempaths=unconfined".',
        ),
        (
            "db.security_opt = ['seccomp=~/x.json']",
            "db.security_opt[0]",
            '"~/x.json": `~` is not expanded.',
            "Write a path beside the file, or an absolute one.",
        ),
        (
            'db.security_opt = ["apparmor=\\n"]',
            "db.security_opt[0]",
            '"apparmor=\\u000a" is not a security option.',
            "It holds a control character.",
        ),
    ],
)
def test_privileges(tmp_path: Path, lines: str, key: str, what: str, fix: str) -> None:
    assert said_of_cluster(tmp_path, lines) == [(key, what, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        "defaults = { cap_add = ['ALL'], cap_drop = ['MKNOD', 'MKNOD'] }",
        "controller.cap_add = ['CHECKPOINT_RESTORE', 'SYS_NICE']\ncontroller.cap_drop = ['SYS_NICE']",
        "workers.a.devices = ['/dev/null', '/dev/null:/dev/fakegpu0', '/dev/x:/dev/y:mrw', '/dev/z:rw', '/dev/a b,c']",
        "db.security_opt = ['label=disable', 'label:type:svirt_t', 'label=level:s0:c1,c2', 'apparmor=my profile']",
        "api.security_opt = ['no-new-privileges', 'systempaths=unconfined', 'writable-cgroups=true']",
        "submitter.security_opt = ['no-new-privileges=false', 'no-new-privileges:1']",
        "controller.security_opt = ['seccomp=unconfined', 'seccomp=builtin', 'seccomp:unconfined']",
    ],
)
def test_what_is_allowed(tmp_path: Path, lines: str) -> None:
    read_text(tmp_path, f'{HEAD}[{CLUSTER}]\nimage = "x"\n{lines}')


def test_each_item_has_its_line(tmp_path: Path) -> None:
    text = f'{HEAD}[{CLUSTER}]\nimage = "x"\ncontroller.cap_add = [\n  "SYS_NICE",\n  "x", # no\n\n  "y",\n]\n'
    (file,) = write(tmp_path, state=text)
    key = f"{CLUSTER}.controller.cap_add"
    assert [(problem.line, problem.key) for problem in problems(file)] == [(7, f"{key}[1]"), (9, f"{key}[2]")]
