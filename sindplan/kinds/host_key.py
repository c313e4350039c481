"""SSH key pairs: the host key of a node, and the key of a realm's relay."""

from attrs import field, frozen

HOST_KEY = "/etc/ssh/ssh_host_ed25519_key"
"""Where a node has the private half of its host key; the public one is beside it, with `.pub`."""


@frozen
class HostKey:
    """An ed25519 key pair: the private half in OpenSSH's PEM form, the public one as `ssh-ed25519 AAAA…`."""

    private: bytes = field(repr=False)
    public: str


def public_half(private: bytes) -> str:
    """Return the public key that belongs to a private one, `ssh-ed25519 …`. Raises ValueError when it is none."""
    from cryptography.hazmat.primitives import serialization

    key = serialization.load_ssh_private_key(private, None)
    spelt = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return spelt.decode("ascii")


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
