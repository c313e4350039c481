"""Passwords in Slurm's text, hidden before anybody sees it.

More is hidden than Slurm would take for a password: what stands in comments, and all of a line whose quotes do not end.
"""

import re

from sindplan.slurm.text import BLANK, BLANKS, WORD, lines

HIDDEN = "<hidden>"
STORAGE_PASSWORD = "<secret storage_password>"  # noqa: S105, the very thing that is none
"""Stands in slurmdbd.conf for the password, which only an apply looks up."""

_KEY = re.compile(rf"(?<![A-Za-z0-9_.])([A-Za-z0-9_.]++){BLANK}*+[-*+/]?={BLANK}*+")
_VALUE = re.compile(rf'{re.escape(STORAGE_PASSWORD)}|"[^"]*"(?!{WORD})|"[^\n]*+|{WORD}++')


# Of scheme://user:password@host, up to the last @ as browsers and curl read it (RFC 3986 wants others spelt %40).
_IN_URL = re.compile(r"(://[^\s/:@\"']*+:)(?:\\\r?\n[ \t]*|[^\s/\"'])+(?=@)")
_HIDDEN_IN_URL = re.compile(rf"://[^\s/:@\"']*+:{HIDDEN}@")


def masked(text: str) -> str:
    """Return a text in which the value of every key that speaks of a password, and the password in every URL, is hidden."""
    text = _IN_URL.sub(rf"\1{HIDDEN}", text)
    if "pass" not in _letters(text):
        return text
    pieces, position = list[str](), 0
    for line in lines(text, comments=True):
        for key in _KEY.finditer(line.text):
            is_new = key.end() < len(line.starts) and line.starts[key.end()] >= position
            value = _VALUE.match(line.text, key.end()) if is_new and "pass" in key[1].lower() else None
            if value is not None:
                pieces += [text[position : line.starts[key.end()]], HIDDEN]
                last = line.starts[value.end() - 1]
                # A character that was escaped is two.
                position = last + (2 if text[last] == "\\" else 1)
    return "".join([*pieces, text[position:]])


def holds_placeholders(text: str) -> bool:
    """Say whether a text tells Slurm `HIDDEN` itself for a password: one that was masked, and is not the original."""
    return HIDDEN in text and any(
        _HIDDEN_IN_URL.search(line.text) or any(_is_hidden(line.text, key) for key in _KEY.finditer(line.text))
        for line in lines(text)
    )


def _is_hidden(line: str, key: re.Match[str]) -> bool:
    value = _VALUE.match(line, key.end())
    return value is not None and value[0] == HIDDEN and "pass" in key[1].lower()


def _letters(text: str) -> str:
    # A key may be cut in two by a backslash and a line break.
    return re.sub(rf"[\\{BLANKS}]", "", text).lower()
