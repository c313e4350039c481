"""How names and other strings of a state file must look, each as a pattern and as a sentence for people."""

import re

from attrs import frozen


@frozen
class Spelling:
    """How a string must look.

    Attributes:
        pattern: A regular expression for the whole string, in the part of the language that JSON Schema shares.
        rule: The same for people, as a full sentence.
        noun: What such a string is.
        longest: Most characters, where the pattern does not say.
        is_secret: Whether what is said may be a secret, which no message shows.
    """

    pattern: str
    rule: str
    noun: str = "a name"
    longest: int | None = None
    is_secret: bool = False

    def fits(self, text: str) -> bool:
        """Say whether a text is spelled so."""
        is_short = self.longest is None or len(text) <= self.longest
        return is_short and re.fullmatch(self.pattern, text) is not None


LABEL = Spelling(
    "[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?",
    "A name of a realm or cluster is 1 to 63 of a-z, 0-9 and hyphens, with no hyphen at either end.",
)
GROUP = Spelling("[a-z][a-z0-9-]{0,62}", "A group's name is 1 to 63 of a-z, 0-9 and hyphens, beginning with a letter.")
PARTITION = Spelling(GROUP.pattern, GROUP.rule.replace("group", "partition"))
PERSON = Spelling(
    "[a-z_][a-z0-9_-]{0,31}",
    "A name of a user or group is 1 to 32 of a-z, 0-9, underscores and hyphens, beginning with a letter or underscore.",
)
ACCOUNT = Spelling(
    "[a-z0-9_][a-z0-9_-]{0,63}",
    "An account's name is 1 to 64 of a-z, 0-9, underscores and hyphens, beginning with no hyphen.",
)

_HOST = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
IMAGE = Spelling(
    # github.com/distribution/reference, written out: host and port, path, tag, digest.
    rf"(?:{_HOST}(?::[0-9]+)?/)?{_COMPONENT}(?:/{_COMPONENT})*"
    r"(?::[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?"
    r"(?:@[a-zA-Z][a-zA-Z0-9]*(?:[+._-][a-zA-Z][a-zA-Z0-9]*)*:[0-9a-fA-F]{32,})?",
    'An image is written as Docker does: "name:tag", "registry:5000/path/name:tag" or "name@sha256:…", in lower case.',
    noun="an image reference",
    # More than any reference that Docker takes: a name of 255, a tag of 128, a digest.
    longest=512,
)

MEMORY = Spelling(
    "[0-9]+(?:\\.[0-9]+)? ?(?:[kmgtpKMGTP][iI]?[bB]?|[bB])?",
    'A size is a number and a unit, such as "512m", "1.5g" or "2GiB".',
)
TMP_SIZE = Spelling("[0-9]+[kmgtpeKMGTPE%]?", 'Write digits and k, m, g, t or %, such as "256m" or "10%".')
DURATION = Spelling(
    "(?:[0-9]+h(?:[0-9]+m)?(?:[0-9]+s)?|[0-9]+m(?:[0-9]+s)?|[0-9]+s)",
    'A duration is hours, minutes and seconds, such as "90s", "10m" or "1h30m".',
)
UNIT_MAX = 64
"""Characters of a size or duration: longer ones are no number that anybody means."""

PASSWORD = Spelling(
    # What is left of ASCII without what slurmdbd.conf and SQL read as something else: blanks, quotes, # and \.
    "[!$-&(-\\[\\]-_a-~]{1,79}",
    "A password is 1 to 79 ASCII letters, digits and signs, but no blank, quote, # or backslash.",
    noun="a password that slurmdbd.conf can hold",
    is_secret=True,
)
TIME = Spelling(
    "[0-9]{1,9}(?::[0-9]{1,2}){0,2}|[0-9]{1,6}-[0-9]{1,2}(?::[0-9]{1,2}){0,2}"
    "|[iI][nN][fF][iI][nN][iI][tT][eE]|[uU][nN][lL][iI][mM][iI][tT][eE][dD]",
    'Write minutes, or "M:S", "H:M:S", "D-H", "D-H:M", "D-H:M:S", or "INFINITE".',
    noun="a time of Slurm's",
)
_COUNT = "[0-9]{1,12}[kKmMgGtTpP]?"
# A type may begin with a digit, as those of MIG do, but must not be a count.
_RESOURCE = (
    rf"[A-Za-z_][A-Za-z0-9_]*(?::(?!{_COUNT}(?:[:,]|$))[A-Za-z0-9][A-Za-z0-9_.-]*)?(?::no_consume)?(?::{_COUNT})?"
)
GRES = Spelling(
    rf"{_RESOURCE}(?:,{_RESOURCE})*",
    'Write name, name:type, name:count or name:type:count, separated by commas, such as "gpu:a100:2,fpga:1".',
    noun="a list of generic resources",
    longest=1024,
)
OWNER = Spelling("[a-z0-9][a-z0-9-]{0,62}", "The name is 1 to 63 of a-z, 0-9 and hyphens, beginning with no hyphen.")
SECRET_VARIABLE = Spelling(
    "SINDPLAN_SECRET_[A-Z0-9_]{1,200}",
    "Only variables whose names begin with SINDPLAN_SECRET_ are read; the rest is of A-Z, 0-9 and underscores.",
    noun="the name of a variable for secrets",
    is_secret=True,
)
FEATURE = Spelling(
    "[A-Za-z0-9_.=-]{1,128}",
    "A feature is of letters, digits, underscores, dots, equals signs and hyphens.",
    noun="a feature",
)
PARAMETER = Spelling(
    "[A-Za-z][A-Za-z0-9_]{0,63}", 'Write a parameter of a partition as slurm.conf has it, such as "OverSubscribe".'
)
VALUE = Spelling(
    "[!$-&(-\\[\\]-~]{1,1024}",
    "Write printable ASCII without blanks, quotes, # or backslashes.",
    noun="a value for slurm.conf",
)
