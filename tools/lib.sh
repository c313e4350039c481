# shellcheck shell=bash
# Helpers shared by the scripts in tools/. Source this file; it does nothing by itself.

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# What the tools build and run lies here. realpath, since engines are named by absolute paths.
STATE=$(realpath -ms -- "${SINDPLAN_STATE_DIR:-/var/lib/sindplan}")

EX_USAGE=64

# Progress and errors go to stderr, so that stdout carries data alone.
say() { printf '%s\n' "$*" >&2; }

# die WHAT [WHY [HOW TO MEND]]
die() {
  say "${0##*/}: $1"
  if [ -n "${2:-}" ]; then say "  why:  $2"; fi
  if [ -n "${3:-}" ]; then say "  mend: $3"; fi
  exit 1
}

usage_error() {
  say "${0##*/}: $1 (see --help)"
  exit "$EX_USAGE"
}

# A script's help is the comment block at its top, so that there is one text to keep right.
print_help() { sed -n '2,/^$/ { s/^# \{0,1\}//; p }' "$1"; }

is_root() { [ "$(id -u)" -eq 0 ]; }

need_root() { # WHAT
  is_root || die "$1 needs root" "this runs as $(id -un)" "run it as root, or with sudo"
}

apt_install() { # PACKAGE...
  need_root "installing $*"
  command -v apt-get >/dev/null ||
    die "cannot install $*" "this machine has no apt-get" "install $* by hand"
  say "installing $* (apt)"
  # A stale package list is the usual reason for a failed install: so update and try again.
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 </dev/null || {
    apt-get update -q >&2 </dev/null || say "apt-get update failed; trying with what there is"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@" >&2 </dev/null
  } || die "apt-get could not install $*" "its message is above" "install $* by hand and run this again"
}

# Pages of plans are tried in a browser, completion in its shells, graphs in Graphviz, units in systemd's own check. Where one
# of these cannot be installed, its tests fail and say so.
ensure_test_programs() {
  local wanted packages=()
  for wanted in chromedriver:chromium-driver chromium:chromium dot:graphviz fish:fish systemd-analyze:systemd zsh:zsh; do
    command -v "${wanted%%:*}" >/dev/null || packages+=("${wanted#*:}")
  done
  [ ${#packages[@]} -gt 0 ] || return 0
  if is_root && command -v apt-get >/dev/null; then
    apt_install "${packages[@]}"
  else
    say "missing, and cannot be installed here: ${packages[*]}; the tests that drive them will fail"
  fi
}

need_state_dir() {
  install -d -m 0700 "$STATE" ||
    die "cannot make the state folder $STATE" "see the message above" "set SINDPLAN_STATE_DIR to a folder of yours"
}

# Runs a command in mount and process namespaces of its own: whatever it mounts, and every process it
# leaves, ends with it, even if it or this script is killed.
in_namespaces() { unshare --mount --pid --fork --kill-child --mount-proc --propagation private "$@"; }

# debian_root SUITE TARGET MIRROR PACKAGES: a minimal Debian of SUITE in the folder TARGET.
# An empty MIRROR means debootstrap's own default. PACKAGES is comma separated, and may be empty.
debian_root() {
  local suite=$1 target=$2 mirror=$3 packages=$4 log=$2.log scripts=$2.debootstrap status=0
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  command -v debootstrap >/dev/null || apt_install debootstrap
  [ -e "$keyring" ] || apt_install debian-archive-keyring

  # An older debootstrap does not know newer suites, although the recipe is the same for all.
  # A copy of its folder gets the missing link, so that the host's package stays as it is.
  rm -rf "$scripts"
  cp -a /usr/share/debootstrap "$scripts"
  [ -e "$scripts/scripts/$suite" ] || ln -s sid "$scripts/scripts/$suite"

  rm -rf --one-file-system "$target"
  DEBOOTSTRAP_DIR=$scripts in_namespaces debootstrap --variant=minbase ${packages:+"--include=$packages"} \
    --keyring="$keyring" "$suite" "$target" ${mirror:+"$mirror"} >"$log" 2>&1 </dev/null || status=$?
  rm -rf "$scripts"
  if [ "$status" -ne 0 ]; then
    tail -n 5 "$log" >&2
    die "debootstrap of $suite failed (exit status $status)" "the end of $log is above" \
      "check the network, or name a reachable Debian mirror with --mirror"
  fi
  rm -f "$log"
}

# Python

find_python() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      printf '%s\n' "$candidate"
      return
    fi
  done
  die "Python 3.11 or newer is needed" "python3 here is $(python3 -V 2>/dev/null || echo missing)" \
    "install python3.11 or newer and put it on PATH"
}

# ensure_venv [EXTRA...]: .venv in the repository holds sindplan with these extras.
# pip runs only when pyproject.toml, the pins or the extras differ from the last install.
ensure_venv() {
  local venv=$REPO/.venv want extras
  extras=$(IFS=,; printf '%s' "$*")
  want="$(cat "$REPO/pyproject.toml" "$REPO/tools/constraints.txt" | sha256sum | cut -d' ' -f1) $extras"
  mkdir -p "$venv"
  # The folder itself is the lock: nothing to leave behind.
  exec {venv_lock}<"$venv"
  flock "$venv_lock"
  if [ "$(cat "$venv/.installed" 2>/dev/null)" != "$want" ] || ! "$venv/bin/python" -c '' 2>/dev/null; then
    rm -f "$venv/.installed"
    "$venv/bin/python" -m pip --version >/dev/null 2>&1 || make_venv "$venv"
    say "installing sindplan${extras:+ with $extras} into $venv"
    # Variables, since the first one holds for what builds the package, too; pip 25.3 has one of its own for that.
    PIP_CONSTRAINT=$REPO/tools/constraints.txt PIP_BUILD_CONSTRAINT=$REPO/tools/constraints.txt \
      "$venv/bin/python" -m pip install -q --disable-pip-version-check -e "$REPO${extras:+[$extras]}" >&2 ||
      die "pip could not install sindplan" "its message is above" "check the network, then run this again"
    printf '%s\n' "$want" >"$venv/.installed"
  fi
  exec {venv_lock}<&-
}

make_venv() { # DIR
  local python
  python=$(find_python) || exit 1
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    is_root || die "$python cannot make virtual environments" "its venv or ensurepip module is missing" \
      "install the package python3-venv"
    apt_install python3-venv
  fi
  say "making $1"
  "$python" -m venv --clear "$1" >&2
}
