"""The boot script of a node: what runs before systemd does."""

from collections.abc import Sequence

BOOTING = "sindplan: booting"
"""The line that a node prints when its cgroup tree is ready and systemd takes over."""

# By effect sind's (v0.11): PID 1 leaves the root cgroup, so that controllers can be handed down; each on its own, since
# one that cannot be handed down must not keep the others back.
BOOT_SCRIPT = f"""\
cd /sys/fs/cgroup && mkdir -p init.scope && echo 1 > init.scope/cgroup.procs
for controller in $(cat cgroup.controllers); do echo "+$controller" > cgroup.subtree_control; done
echo '{BOOTING}'
exec /sbin/init
"""


def prints(command: Sequence[str] | None) -> bool:
    """Say whether a container with this command prints the line; nodes that sind made do not."""
    return any(BOOTING in word for word in command or ())
