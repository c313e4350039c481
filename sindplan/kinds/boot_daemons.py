"""What single daemons need on their node beside Slurm's files: drop-ins of their units, and the database's first words."""

from collections.abc import Iterator, Mapping, Sequence

from sindplan.engine.records import Entry
from sindplan.kinds.database import SQL_FILE, database_sql
from sindplan.model.hidden import Hidden
from sindplan.slurm.files import STATE

REST_PORT = 6820
DROP_IN = "sindplan.conf"
"""Name of what sindplan says of a unit."""
_DBD_PORT = 6819

# These daemons are "active" for systemd long before anybody can talk to them; one that ended will never answer.
_ANSWERS = (
    "ExecStartPost=/usr/bin/timeout 60 /bin/bash -c"
    " 'until (exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null; do [ -d /proc/$$MAINPID ] || exit 1; sleep 0.05; done'"
)
_AGAIN = "Restart=on-failure\nRestartSec=1"

# slurmdbd.conf is the only client: no port for others, and long locks for its rollups (slurmdbd's own advice).
_MARIADB = f"""\
[Service]
Environment="MYSQLD_OPTS=--init-file={SQL_FILE} --bind-address=127.0.0.1 --skip-name-resolve \
--innodb-buffer-pool-size=128M --innodb-lock-wait-timeout=900 --loose-innodb-snapshot-isolation=OFF"
"""
_SLURMDBD = f"""\
[Unit]
After=mariadb.service
Requires=mariadb.service
[Service]
{_AGAIN}
{_ANSWERS.format(port=_DBD_PORT)}
"""
# It refuses to run as root or as slurm, and cannot leave the System V namespace of a container (slurmrestd(8)).
_SLURMRESTD = f"""\
[Service]
User=slurmrestd
Group=slurmrestd
Environment=SLURMRESTD_SECURITY=disable_unshare_sysv,disable_unshare_files SLURM_JWT=daemon
ExecStart=
ExecStart=/usr/sbin/slurmrestd -a rest_auth/jwt 0.0.0.0:{REST_PORT}
{_AGAIN}
{_ANSWERS.format(port=REST_PORT)}
"""
DROP_INS: Mapping[str, str] = {"mariadb": _MARIADB, "slurmdbd": _SLURMDBD, "slurmrestd": _SLURMRESTD}

# A backup that is up before there was ever a primary holds it up for half a minute, and any standby answers nobody in its
# first five seconds, which the primary waits for. So it waits for the primary's first sign of life after its own boot.
_STANDBY = f"""\
[Service]
ExecStartPre=-/usr/bin/timeout 10 /bin/sh -c\
 'until [ {STATE}/heartbeat -nt /run/systemd/private ]; do sleep 0.05; done'
"""
# Whatever else the image's file says stays.
_NSS = """\
[Service]
ExecStartPre=/bin/sed -i -E '/^(passwd|group):/{/slurm/!s/:[[:space:]]*/: slurm /}' /etc/nsswitch.conf
"""


def daemon_entries(
    daemons: Sequence[str],
    owners: Mapping[str, tuple[int, int]],
    password: Hidden | None,
    *,
    nss_slurm: bool = False,
    standby: bool = False,
) -> Iterator[Entry]:
    """Yield what the daemons of a node need.

    Args:
        password: slurmdbd's at MariaDB, where it has one.
        nss_slurm: Whether names of users come from Slurm's jobs first.
        standby: Whether slurmctld is a backup.
    """
    for daemon in daemons:
        if daemon in DROP_INS:
            yield _drop_in(daemon, DROP_INS[daemon])
    if standby and "slurmctld" in daemons:
        yield _drop_in("slurmctld", _STANDBY)
    if nss_slurm:
        yield _drop_in("slurmd", _NSS)
    if "mariadb" in daemons:
        # MariaDB runs it at each start, as its own user: nobody else may read it.
        content = database_sql(password.value if password else "").encode()
        yield Entry(path=SQL_FILE, content=content, mode=0o640, gid=owners["mysql"][1])
    if "slurmrestd" in daemons and owners["slurmrestd"] == (0, 0):
        line = b'u slurmrestd - "Slurm REST API" / /usr/sbin/nologin\n'
        yield Entry(path="/etc/sysusers.d/sindplan-slurmrestd.conf", content=line)


def _drop_in(daemon: str, text: str) -> Entry:
    return Entry(path=f"/etc/systemd/system/{daemon}.service.d/{DROP_IN}", content=text.encode())
