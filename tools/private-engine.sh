# shellcheck shell=bash
# A Docker Engine that runs from its own Debian root file system, in a mount namespace and a network
# namespace of its own. Source this after lib.sh; tools/engine describes it to its users.
#
# The caller sets NAME, MIRROR, SHARES (folders) and PYTHON; this file derives the rest from them.

ENGINE_PACKAGES=docker.io,iptables,ca-certificates,procps,iproute2,kmod
LOG_LIMIT=$((10 * 1024 * 1024))
INOTIFY_WANTED=1024

DIR=$STATE/engines/$NAME
SOCKET=unix://$DIR/run/docker.sock
# Named by the folder, too: an engine of the same name in another state folder is somebody else's.
CGROUP=/sindplan-$NAME-$(printf '%s' "$DIR" | cksum | cut -d' ' -f1)

api() { "$PYTHON" "$REPO/tools/dockerapi.py" "$@"; }

answers() { api ping "$SOCKET" 2>/dev/null; }

# --- Its processes --------------------------------------------------------------------------------

# Field 22 of stat: when the process started, in clock ticks since boot. A pid alone may have been
# given to another process since. The name in field 2 may hold blanks, so cut after its bracket.
start_time() { # PID
  local line
  { line=$(<"/proc/$1/stat"); } 2>/dev/null || return 1
  read -r -a line <<<"${line##*) }"
  printf '%s\n' "${line[19]}"
}

boot_id() { cat /proc/sys/kernel/random/boot_id; }

# Ended, but its parent has not taken note yet.
is_zombie() { grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; } # PID

# Prints the pid of dockerd, if that very process still runs.
running_pid() {
  local pid started boot
  read -r pid started boot 2>/dev/null <"$DIR/pid" || return 1
  [ "$boot" = "$(boot_id)" ] && [ "$(start_time "$pid")" = "$started" ] && ! is_zombie "$pid" || return 1
  printf '%s\n' "$pid"
}

# All that the engine starts, containers and shims too, lives below its cgroup, whoever its parent is
# by now. So the cgroup tells for sure what belongs to it.
own_pids() {
  local file pid
  while read -r file; do
    pid=${file#/proc/}
    pid=${pid%/cgroup}
    is_zombie "$pid" || printf '%s\n' "$pid"
  done < <(grep -l "^0::$CGROUP/" /proc/[0-9]*/cgroup 2>/dev/null)
}

# An engine whose containerd was killed answers, but can start nothing; it needs about 10 seconds to
# bring up another.
has_containerd() {
  local _
  for _ in $(seq 20); do
    if api has-containerd "$SOCKET" 2>/dev/null; then return; fi
    sleep 1
  done
  return 1
}

# Ends what an engine that was killed has left: containerd, shims, containers.
end_leftovers() {
  local pids round
  for round in $(seq 100); do
    mapfile -t pids < <(own_pids)
    [ "${#pids[@]}" -gt 0 ] || break
    [ "$round" != 1 ] || say "ending ${#pids[@]} processes that engine $NAME left behind"
    kill -KILL "${pids[@]}" 2>/dev/null || true
    sleep 0.1
  done
  [ "${#pids[@]}" -eq 0 ] ||
    die "processes of engine $NAME do not end" "still there: ${pids[*]}" "look at them with ps"
  rm -f "$DIR/pid" "$DIR/run/docker.sock"
  # Empty cgroups can be removed only where cgroup2 is mounted: in a namespace, for the moment.
  mkdir -p "$DIR/cgroup"
  # shellcheck disable=SC2016  # $1 and $2 are the inner shell's
  unshare --mount --propagation private sh -c '
    mount -t cgroup2 cgroup2 "$1" -o nsdelegate && [ ! -d "$1$2" ] || find "$1$2" -depth -type d -exec rmdir {} +' \
    sh "$DIR/cgroup" "$CGROUP" 2>/dev/null || true
  rmdir "$DIR/cgroup"
}

# --- Starting and stopping ------------------------------------------------------------------------

# Or sets UNFIT_PRIVATE to the reason why not.
can_be_private() {
  UNFIT_PRIVATE=
  if [ "$(uname -s)" != Linux ]; then
    UNFIT_PRIVATE="this is not Linux"
  elif [[ $(uname -m) != @(x86_64|aarch64) ]]; then
    UNFIT_PRIVATE="it is made for x86_64 and arm64, not for $(uname -m)"
  elif ! is_root; then
    UNFIT_PRIVATE="it needs root, and this runs as $(id -un)"
  elif [ ! -d "$STATE/root" ] && ! command -v debootstrap >/dev/null && ! command -v apt-get >/dev/null; then
    UNFIT_PRIVATE="there is neither debootstrap nor apt-get"
  fi
  [ -z "$UNFIT_PRIVATE" ]
}

# The root file system is built once and used by all engines.
build_root() {
  exec {root_lock}>"$STATE/root.lock"
  flock "$root_lock"
  if [ ! -d "$STATE/root" ]; then
    say "building the private engine's root file system (about a minute, once)"
    debian_root forky "$STATE/root.tmp" "$MIRROR" "$ENGINE_PACKAGES"
    rm -rf "$STATE/root.tmp"/var/cache/apt/archives/*.deb
    # Under its name it is complete: a build that was killed leaves root.tmp only, and is redone.
    mv "$STATE/root.tmp" "$STATE/root"
  fi
  exec {root_lock}>&-
}

raise_inotify() {
  local file=/proc/sys/fs/inotify/max_user_instances
  if [ "$(<$file)" -lt $INOTIFY_WANTED ]; then
    # Each systemd container holds about five instances, and the kernel's own limit is 128.
    say "raising fs.inotify.max_user_instances from $(<$file) to $INOTIFY_WANTED"
    echo $INOTIFY_WANTED >$file 2>/dev/null || say "it could not be raised: about 25 nodes will fit"
  fi
}

# Two commands on one engine wait for each other.
lock_engine() {
  exec {engine_lock}>"$DIR/lock"
  flock "$engine_lock"
}

unlock_engine() { exec {engine_lock}>&-; }

start_private() {
  local pid share _
  need_state_dir
  install -d -m 0700 "$STATE/engines" "$DIR"
  lock_engine
  if pid=$(running_pid) && answers && has_containerd; then
    say "engine $NAME runs already (pid $pid)"
    for share in "${SHARES[@]}"; do
      grep -qF " $share " "/proc/$pid/mountinfo" ||
        die "$share is not shared with the running engine $NAME" "folders are shared when an engine starts" \
          "tools/engine restart with all --share options"
    done
    unlock_engine
    return
  fi
  [ "${#SOCKET}" -lt 108 ] ||
    die "the path of the socket is too long" "$SOCKET" "set SINDPLAN_STATE_DIR to a shorter path"
  build_root
  raise_inotify
  stop_private
  mkdir -p "$DIR/data" "$DIR/share"
  install -d -m 0700 "$DIR/run"
  if [ "$(stat -c %s "$DIR/dockerd.log" 2>/dev/null || echo 0)" -gt $LOG_LIMIT ]; then
    mv "$DIR/dockerd.log" "$DIR/dockerd.log.1"
  fi
  # It must not inherit the lock, which it would hold as long as it runs. All these commands replace
  # each other in one process, so its pid is known from the first moment.
  setsid unshare --mount --net --propagation private "$REPO/tools/engine" inside --name "$NAME" \
    "${SHARES[@]/#/--share=}" {engine_lock}>&- >>"$DIR/dockerd.log" 2>&1 </dev/null &
  pid=$!
  disown
  printf '%s %s %s\n' "$pid" "$(start_time "$pid")" "$(boot_id)" >"$DIR/pid"
  for _ in $(seq 600); do
    if answers; then
      say "engine $NAME runs: $(api version "$SOCKET") (pid $pid)"
      unlock_engine
      return
    fi
    running_pid >/dev/null || break
    sleep 0.1
  done
  tail -n 10 "$DIR/dockerd.log" >&2
  die "engine $NAME did not come up" "the end of $DIR/dockerd.log is above" \
    "tools/engine stop --private --name $NAME, then start again"
}

stop_private() {
  local pid _
  if pid=$(running_pid); then
    kill -TERM "$pid"
    # dockerd gives its containers 15 seconds.
    for _ in $(seq 300); do
      running_pid >/dev/null || break
      sleep 0.1
    done
    if running_pid >/dev/null; then
      say "engine $NAME did not end in 30 seconds; killing it"
      kill -KILL "$pid" 2>/dev/null || true
    fi
  fi
  end_leftovers
}

# --- Inside the new namespaces --------------------------------------------------------------------

# Arranges what the engine sees, and becomes dockerd.
run_inside() {
  local root=$STATE/root dir
  echo "--- $(date -u +%FT%TZ) start, pid $$"
  mount --make-rprivate /
  mount --bind "$root" "$root"
  mount -t proc proc "$root/proc"
  mount -t sysfs sysfs "$root/sys"
  mount --rbind /dev "$root/dev"
  # cgroup v2 for the engine and its nodes, also where the machine itself still has v1.
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup" -o nsdelegate
  mkdir -p "$root/sys/fs/cgroup$CGROUP/engine"
  echo $$ >"$root/sys/fs/cgroup$CGROUP/engine/cgroup.procs"
  mount -t tmpfs -o mode=755 tmpfs "$root/run"
  mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
  mkdir -p "$root/var/lib/docker" "$root/mnt/old"
  mount --bind "$DIR/data" "$root/var/lib/docker"
  cp -L /etc/resolv.conf "$root/run/resolv.conf" 2>/dev/null || : >"$root/run/resolv.conf"
  [ -f "$root/etc/resolv.conf" ] || : >"$root/etc/resolv.conf"
  mount --bind "$root/run/resolv.conf" "$root/etc/resolv.conf"
  if [ -d /lib/modules ]; then
    mkdir -p "$root/usr/lib/modules"
    mount --bind -o ro /lib/modules "$root/usr/lib/modules"
  fi
  for dir in "$DIR/run" "$DIR/share" "${SHARES[@]}"; do
    mkdir -p "$root$dir"
    mount --rbind "$dir" "$root$dir"
  done
  ip link set lo up
  # Not chroot: docker exec joins a mount namespace, which resets the root to the namespace's own.
  cd "$root" || exit
  pivot_root . mnt/old
  umount -l /mnt/old
  cd /
  # As on any machine, so that bind mounts with slave propagation work.
  mount --make-rshared /
  # Small address pools: the usual 31 networks are soon used up by tests. No route leads outside, so
  # the addresses clash with nobody's.
  exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin dockerd \
    -H "$SOCKET" --data-root /var/lib/docker --exec-root /run/docker --pidfile /run/docker.pid \
    --cgroup-parent "$CGROUP/nodes" --exec-opt native.cgroupdriver=cgroupfs \
    --default-address-pool base=172.16.0.0/12,size=20
}
