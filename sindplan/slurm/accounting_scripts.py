"""The scripts that ask and tell sacctmgr in a node, and what they say."""

from collections.abc import Iterable

from sindplan.slurm.accounting import COLUMNS, SEPARATOR, TEXTS
from sindplan.slurm.running import RUNS

Operation = tuple[str, ...]
"""The words of one sacctmgr command."""

# Asking a slurmctld that does not run takes scontrol ten seconds; the kernel says it at once.
_VIEW = f"""\
{RUNS}view() {{
    runs slurmctld || return 1
    cluster=$(scontrol show config 2> /dev/null | awk '$1 == "ClusterName" {{ print $3; exit }}')
    test -n "$cluster" || return 1
    echo "$cluster"
    echo '{SEPARATOR}'
    sacctmgr -nP show assoc WOPLimits where cluster="$cluster" format=Account,User,ParentName,{",".join(COLUMNS)} ||
        return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show user withcoord format=User,DefaultAccount,Admin,Coordinators || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show assoc WOPLimits where cluster="$cluster" user= format=Account,Comment || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show account format=Account,Description || return 1
    echo '{SEPARATOR}'
    sacctmgr -nP show account format=Account,Organization || return 1
}}
"""
assert TEXTS == ("Comment", "Description", "Organization")

VIEW = f"{_VIEW}view\n"
"""Says everything that is compared."""

# A cluster without a control host is not registered yet (or its slurmctld is down): nothing can be added to it.
AWAIT = f"""\
{_VIEW}
until said=$(view 2> /dev/null) &&
    test -n "$(sacctmgr -nP show cluster where names="${{said%%
*}}" format=controlhost 2> /dev/null)"
do sleep 0.2; done
printf '%s\\n' "$said"
"""
"""The same, as soon as slurmdbd answers and knows the cluster."""

_MARK = "\x1f"
REFUSED = 3
"""Status of a script whose operation sacctmgr refused."""

OPERATE = f"""\
{_VIEW}
words=''
set -f
for operation
do
    IFS=$(printf '\\037')
    said=$(sacctmgr -i $operation 2>&1)
    status=$?
    unset IFS
    case "$status $said" in
        0\\ * | *'Nothing modified'* | *'has not changed'* | *'Nothing added'* | *'Nothing removed'* | \\
        *'Nothing deleted'* | *'Already existing'*)
            words="$words$said
" ;;
        *)
            printf '%s\\n' "$operation" "$said" >&2
            exit {REFUSED} ;;
    esac
done
set +f
printf '%s' "$words" >&2
view
"""
"""Runs operations, each of them one argument, and says what accounting shows afterwards."""


def encoded(operations: Iterable[Operation]) -> list[str]:
    """Return operations as arguments of the script, which takes each apart without looking into its words."""
    return [_MARK.join(word.replace(_MARK, " ") for word in operation) for operation in operations]


def refusal(said: str) -> str:
    """Return what the script says of an operation that was refused, as one line: which, and sacctmgr's words."""
    operation, _, words = said.partition("\n")
    verb, kind, *rest = [*operation.split(_MARK), "", ""]
    whom = next((word.partition("=")[2] for word in rest if word.startswith(("name=", "names="))), "")
    return f"sacctmgr refused to {verb} {kind} {whom}: {in_one_line(words)}"


def in_one_line(words: str) -> str:
    """Return sacctmgr's words in one line."""
    lines = (" ".join(line.removeprefix("sacctmgr: error:").split()) for line in words.splitlines())
    return "; ".join(line for line in lines if line)
