"""What lies in a node before its first boot."""

import secrets
from collections.abc import Mapping, Sequence

from attrs import field, frozen

from sindplan.engine.records import Entry
from sindplan.slurm.files import STATE


@frozen
class HostKey:
    """An ed25519 key pair: the private half in OpenSSH's PEM form, the public one as `ssh-ed25519 AAAA…`."""

    private: bytes = field(repr=False)
    public: str


def new_host_key() -> HostKey:
    """Make a key pair."""
    # Imported here: it costs a tenth of a second, which a plan need not spend.
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    return HostKey(
        key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        ),
        key.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode("ascii"),
    )


def boot_entries(
    *,
    role: str,
    host_key: HostKey,
    relay_key: str,
    daemons: Sequence[str],
    owners: Mapping[str, tuple[int, int]],
) -> list[Entry]:
    """Return what is put into a node: SSH keys, machine id, links of the units to start, folders of the volumes.

    Args:
        relay_key: The relay's public key, one line.
        daemons: Names of the units to start at boot, without `.service`.
        owners: User id and group id of `slurm` and `munge` in the image.
    """
    slurm, munge = owners["slurm"], owners["munge"]
    entries = [
        Entry(path="/etc/ssh/ssh_host_ed25519_key", content=host_key.private, mode=0o600),
        Entry(path="/etc/ssh/ssh_host_ed25519_key.pub", content=f"{host_key.public}\n".encode()),
        Entry(path="/etc/ssh/sshd_config.d/10-sindplan.conf", content=b"HostKey /etc/ssh/ssh_host_ed25519_key\n"),
        Entry(path="/root/.ssh", kind="dir", mode=0o700),
        Entry(path="/root/.ssh/authorized_keys", content=f"{relay_key.strip()}\n".encode(), mode=0o600),
        # Every container of an image would have the image's.
        Entry(path="/etc/machine-id", content=f"{secrets.token_hex(16)}\n".encode(), mode=0o444),
    ]
    entries += [
        Entry(
            path=f"/etc/systemd/system/multi-user.target.wants/{daemon}.service",
            kind="link",
            link=f"/usr/lib/systemd/system/{daemon}.service",
        )
        for daemon in daemons
    ]
    if role == "controller":
        # The roots of fresh volumes belong to root.
        entries += [
            Entry(path=STATE, kind="dir", mode=0o755, uid=slurm[0], gid=slurm[1]),
            Entry(path="/etc/munge", kind="dir", mode=0o700, uid=munge[0], gid=munge[1]),
        ]
    return entries
