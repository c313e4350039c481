#!/bin/sh
# Plan against a snapshot, for somebody who is not trusted: nothing of the environment is handed on, so no secret can be.
#
#     plan.sh SNAPSHOT FOLDER [FILE]...
#
# FOLDER gets plan.json, unless no plan could be made, and plan.txt with all that was said. The exit status is that of `sindplan plan`.
set -eu
snapshot=$1 folder=$2
shift 2
for file in "$@"; do
  shift
  set -- "$@" -f "$file"
done
mkdir -p -- "$folder"
planned() { env -i PATH="$PATH" LANG=C.UTF-8 sindplan --no-color plan "--against=$snapshot" "$@"; }

status=0
planned "$@" --format json > "$folder/plan.json" 2> /dev/null || status=$?
test -s "$folder/plan.json" || rm -f -- "$folder/plan.json"
planned "$@" > "$folder/plan.txt" 2>&1 || true
cat -- "$folder/plan.txt"
exit "$status"
