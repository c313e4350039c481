#!/bin/sh
# Turns a minimal Debian root file system into a sindplan node image. Runs inside that root, as root:
# in the Dockerfile and in the offline build of tools/image alike, so that both give the same image.
#
# What a node needs of its own (machine id, SSH host key, munge key, users, Slurm configuration, which
# daemons to start) is not in the image: it arrives with the archive put into the container before its start.

set -eu
export DEBIAN_FRONTEND=noninteractive LC_ALL=C

# --- Fixed user and group ids ---------------------------------------------------------------------
# Packages would take the next free id, which differs between suites; then a volume written by a node of
# one version would belong to somebody else on a node of another. 64030 is Debian's own reserved id for
# slurm. The others lie in 900-949, below what Debian's packages take (from 999 down, one by one).

group() { # NAME GID
  getent group "$1" >/dev/null || groupadd --gid "$2" "$1"
}
user() { # NAME UID GROUP HOME
  id "$1" >/dev/null 2>&1 ||
    useradd --uid "$2" --gid "$3" --home-dir "$4" --no-create-home --shell /usr/sbin/nologin "$1"
}
system() { # NAME ID HOME
  group "$1" "$2"
  user "$1" "$2" "$1" "$3"
}
system slurm 64030 /nonexistent
system munge 901 /nonexistent
system mysql 902 /nonexistent
system slurmrestd 903 /nonexistent
system messagebus 904 /nonexistent
system systemd-network 905 /
user sshd 906 nogroup /run/sshd
user dnsmasq 907 nogroup /var/lib/misc
group systemd-journal 910
group _ssh 911

# --- Packages -------------------------------------------------------------------------------------

mkdir -p /etc/dpkg/dpkg.cfg.d
cat >/etc/dpkg/dpkg.cfg.d/sindplan <<'END'
path-exclude=/usr/share/doc/*
path-exclude=/usr/share/man/*
path-exclude=/usr/share/info/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/lintian/*
END
# No package may start its daemon here.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d

# A testing suite that was not refreshed for some days has a Release file past its date.
apt() { apt-get -q -o Acquire::Check-Valid-Until=false -o Dpkg::Use-Pty=0 "$@"; }
apt update
apt install -y --no-install-recommends \
  systemd systemd-sysv dbus \
  bash ca-certificates curl hostname iproute2 openssh-client openssh-server procps socat dnsmasq-base \
  munge slurmctld slurmd slurm-client slurmdbd slurmrestd sackd \
  slurm-wlm-basic-plugins slurm-wlm-jwt-plugin slurm-wlm-mysql-plugin mariadb-server
apt clean
rm -rf /var/lib/apt/lists/* /usr/sbin/policy-rc.d

# --- Units ----------------------------------------------------------------------------------------
# Which Slurm daemons run is decided per node, by links in its archive.

systemctl disable slurmctld slurmd slurmdbd slurmrestd sackd mariadb
systemctl enable munge ssh
systemctl set-default multi-user.target
# These fail in a container, or only cost time at boot: about a third of a node's work to come up.
# sshd-keygen would make keys of every type. Without systemd-update-done, systemd-sysusers runs at each
# boot, not at the first alone; so a user added to a stopped node exists when it comes up.
for unit in \
  apt-daily-upgrade.timer apt-daily.timer console-getty.service dev-hugepages.mount dev-mqueue.mount \
  dpkg-db-backup.timer e2scrub_all.timer e2scrub_reap.service fstrim.timer getty.target \
  kmod-static-nodes.service ldconfig.service ssh.socket sshd-keygen.service sys-fs-fuse-connections.mount \
  sys-kernel-debug.mount sys-kernel-tracing.mount systemd-ask-password-console.path \
  systemd-ask-password-wall.path systemd-ask-password.socket systemd-creds.socket \
  systemd-factory-reset.socket systemd-hostnamed.socket systemd-hwdb-update.service systemd-initctl.socket \
  systemd-journal-catalog-update.service systemd-journalctl.socket systemd-logind-varlink.socket \
  systemd-logind.service systemd-mute-console.socket systemd-networkd-wait-online.service \
  systemd-networkd.service systemd-remount-fs.service systemd-sysinstall.socket \
  systemd-tmpfiles-setup-dev-early.service systemd-tmpfiles-setup-dev.service systemd-udev-trigger.service \
  systemd-udevd.service systemd-update-done.service; do
  ln -sf /dev/null "/etc/systemd/system/$unit"
done
# Generators look for disks, consoles and boot options at each boot; a container has none.
mkdir -p /etc/systemd/system-generators
for generator in /usr/lib/systemd/system-generators/*; do
  ln -sf /dev/null "/etc/systemd/system-generators/${generator##*/}"
done
# The journal outlives a stop, so that the reason of a failure can be read; but it may not fill the disk.
mkdir -p /etc/systemd/journald.conf.d
printf '[Journal]\nStorage=persistent\nSystemMaxUse=64M\nAudit=no\n' >/etc/systemd/journald.conf.d/sindplan.conf

# Without its key munge would fail, and the node would count as degraded.
mkdir -p /etc/systemd/system/munge.service.d /etc/systemd/system/ssh.service.d
printf '[Unit]\nConditionPathExists=/etc/munge/munge.key\n' >/etc/systemd/system/munge.service.d/sindplan.conf
# A node brings its host key along. One that does not (a node made by sind) makes its own at first boot.
cat >/etc/systemd/system/sindplan-hostkey.service <<'END'
[Unit]
Description=Make the SSH host key, if the node brought none
ConditionPathExists=!/etc/ssh/ssh_host_ed25519_key
Before=ssh.service

[Service]
Type=oneshot
ExecStart=/usr/bin/ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key
END
printf '[Unit]\nWants=sindplan-hostkey.service\nAfter=sindplan-hostkey.service\n' \
  >/etc/systemd/system/ssh.service.d/sindplan.conf

# --- MariaDB --------------------------------------------------------------------------------------
# Newer packages keep the data in /var/lib/mariadb. One place in every suite lets a database move on
# to a node of a newer image on its volume.
if [ ! -d /var/lib/mysql ]; then
  mv /var/lib/mariadb /var/lib/mysql
fi
printf '[mariadbd]\ndatadir=/var/lib/mysql\n' >/etc/mysql/mariadb.conf.d/60-sindplan.cnf

# --- SSH ------------------------------------------------------------------------------------------

rm -f /etc/ssh/ssh_host_*
# PAM reads it at each login, and says so in the journal when it is missing.
printf 'LANG=C.UTF-8\n' >/etc/default/locale
mkdir -p /etc/ssh/authorized_keys
# The second key file is for users whose home does not exist when the node's archive is written.
cat >/etc/ssh/sshd_config.d/10-sindplan.conf <<'END'
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
AuthorizedKeysFile .ssh/authorized_keys /etc/ssh/authorized_keys/%u
END

# --- Nothing that nodes would share ---------------------------------------------------------------

rm -rf /etc/munge/munge.key /etc/slurm /var/lib/systemd/random-seed /var/lib/systemd/credential.secret
: >/etc/machine-id
rm -f /var/lib/dbus/machine-id
install -d -m 755 /etc/slurm /data
install -d -o munge -g munge -m 700 /etc/munge
install -d -o slurm -g slurm -m 755 /var/spool/slurmctld
install -d -m 755 /var/spool/slurmd
find /var/log -type f -delete
rm -rf /var/cache/apt/*.bin /var/cache/debconf/*-old /var/lib/dpkg/*-old
# What the base system brought before the path-exclude lines above were there.
rm -rf /usr/share/doc /usr/share/man /usr/share/locale

# --- Facts ----------------------------------------------------------------------------------------
# What is in the image, found by looking. Planning reads this from the image's label, and so never
# has to start a container to know it.

strings() { # lines on stdin -> JSON list
  sort -u | awk 'BEGIN { printf "[" } NF { printf "%s\"%s\"", n++ ? "," : "", $0 } END { printf "]" }'
}
present() { # COMMAND... -> those that exist, one a line
  for command in "$@"; do
    if command -v "$command" >/dev/null; then echo "$command"; fi
  done
}
ids() { # USER... -> "user":[uid,gid],...
  for name in "$@"; do
    id -u "$name" >/dev/null 2>&1 && printf '"%s":[%s,%s]\n' "$name" "$(id -u "$name")" "$(id -g "$name")"
  done | paste -sd,
}
numbers() { # FILE like /etc/passwd -> "name":id,...
  awk -F: '$1 ~ /^[a-zA-Z0-9_.-]+$/ && $3 ~ /^[0-9]+$/ && !seen[$1]++ {
    printf "%s\"%s\":%d", sep, $1, $3; sep = "," }' "$1"
}
unit() { # NAME... -> the first that is a real file, not an alias
  for name in "$@"; do
    if [ -f "/usr/lib/systemd/system/$name" ] && [ ! -L "/usr/lib/systemd/system/$name" ]; then
      echo "$name"
      return
    fi
  done
}
plugins=$(dirname "$(find /usr/lib /usr/lib64 -name auth_munge.so -print -quit)")
list_plugins() { find "$plugins" -name "${1-}*.so" ! -name 'lib*' -exec basename {} .so \; ; }
# Debian prints "slurm-wlm 26.05.5", others "slurm 25.11.2".
slurm_version=$(slurmctld -V | awk '{ print $2 }')
systemd_version=$(systemctl --version | awk 'NR == 1 { print $2 }')
db_dir=$(mariadbd --help --verbose 2>/dev/null | awk '$1 == "datadir" { sub("/$", "", $2); print $2 }')
nss_slurm=$(find /usr/lib /usr/lib64 -name 'libnss_slurm.so*' -print -quit)

mkdir -p /usr/share/sindplan
{
  printf '{"v":1'
  printf ',"slurm_version":"%s","systemd":"%s"' "$slurm_version" "$systemd_version"
  printf ',"os":"%s"' "$(. /etc/os-release && echo "$PRETTY_NAME")"
  printf ',"plugin_dir":"%s"' "$plugins"
  printf ',"mpi_plugins":%s' "$(list_plugins mpi_ | sed 's/^mpi_//' | strings)"
  printf ',"plugins":%s' "$(list_plugins | strings)"
  printf ',"uids":{%s}' "$(ids slurm munge mysql slurmrestd messagebus sshd)"
  printf ',"users":{%s},"groups":{%s}' "$(numbers /etc/passwd)" "$(numbers /etc/group)"
  printf ',"daemons":%s' "$(present mariadbd munged sackd slurmctld slurmd slurmdbd slurmrestd sshd | strings)"
  printf ',"tools":%s' "$(present bash curl dnsmasq getent mariadb mariadb-dump sacctmgr scontrol \
    sinfo socat srun ssh ssh-keygen | strings)"
  printf ',"ssh_unit":"%s"' "$(unit sshd.service ssh.service)"
  printf ',"db_dir":"%s"' "$db_dir"
  printf ',"nss_slurm":%s}\n' "$([ -n "$nss_slurm" ] && echo true || echo false)"
} >/usr/share/sindplan/image.json
