"""Rules of the user's text for Slurm's files: that it can be carried and read. What it may say: the modules beside.

Most of what is refused here would be found by a daemon that does not start, minutes later and in its log.
"""

import posixpath
import re
from collections.abc import Callable, Iterator

from sindplan.slurm.files import CONFIG, slurm_paths
from sindplan.slurm.sections import FILES
from sindplan.slurm.text import unread
from sindplan.statefile import slurm_parameters, slurm_records
from sindplan.statefile.context import Context
from sindplan.statefile.fault import Fault
from sindplan.statefile.slurm_sections import READ, SECTIONS, said, texts
from sindplan.statefile.wording import quoted

# Every file's name is this and `.conf`; `plugstack.conf.d/*` does not match names with a dot before them.
_FRAGMENT = re.compile("[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WILDCARD = re.compile(r"[*?\[]")
_MARK = "\ufeff"


def _sections_say_something(context: Context) -> Iterator[Fault]:
    for name in SECTIONS:
        section = getattr(context.cluster.slurm, name)
        if section is not None and not section and not context.has_dropped_below("slurm", name):
            what = "The text is empty." if isinstance(section, str) else "The table has no fragments."
            yield context.fault(("slurm", name), what, f"Write text for {FILES[name]}, or remove the key.")
        elif section is not None and not isinstance(section, str):
            for fragment in (fragment for fragment, text in section.items() if not text):
                fix = "Write its text, or remove the key."
                yield context.fault(("slurm", name, fragment), "The fragment is empty.", fix)


def _fragments_are_file_names(context: Context) -> Iterator[Fault]:
    for name in SECTIONS:
        for keys, _ in texts(context, name):
            fragment = str(keys[-1])
            if len(keys) > len(("slurm", name)) and not _FRAGMENT.fullmatch(fragment):
                rule = "Write letters, digits, underscores, dots and hyphens, at most 128, beginning with no dot or hyphen."
                what = f"{quoted(fragment)} does not do as a file's name: the fragment becomes {FILES[name]}.d/<name>.conf."
                yield context.fault(keys, what, rule)


def _texts_are_text(context: Context) -> Iterator[Fault]:
    for name in SECTIONS:
        for keys, text in texts(context, name):
            if text.startswith(_MARK):
                what = "The text begins with a byte order mark, which Slurm takes for a part of the first word."
                yield context.fault(keys, what, "Remove this character, which editors do not show.")
            if found := _CONTROL.search(text):
                line = text.count("\n", 0, found.start()) + 1
                yield context.fault_of_line(
                    keys, line, f"holds the control character {quoted(found[0])}.", "Remove it."
                )


def _lines_can_be_read(context: Context) -> Iterator[Fault]:
    # What stands there is not shown: it may be the end of a password with a blank in it.
    rule = (
        "Write one Key=value a line, with double quotes around a value that has blanks, and no blanks before `include`."
    )
    for name in READ:
        for keys, text in texts(context, name):
            for line in unread(text.removeprefix(_MARK))[:1]:
                yield context.fault_of_line(keys, line, "cannot be read by Slurm.", rule)


def _includes_can_be_followed(context: Context) -> Iterator[Fault]:
    generated = slurm_paths(context.cluster)
    for name in READ:
        for found in said(context, name, "include"):
            path = found.statement.value
            # Slurm looks beside slurm.conf, also for what a fragment in another folder includes.
            whole = posixpath.normpath(posixpath.join(CONFIG, path))
            if _WILDCARD.search(path):
                what = f"includes {quoted(path)}: Slurm knows no wildcards here."
                yield found.fault(context, what, "Name each file, or write fragments.")
            elif whole.removeprefix(f"{CONFIG}/") in generated:
                what = f"includes {quoted(path)}, which sindplan writes and Slurm reads anyway."
                yield found.fault(context, what, "Remove the line.")


RULES: tuple[Callable[[Context], Iterator[Fault]], ...] = (
    _sections_say_something,
    _fragments_are_file_names,
    _texts_are_text,
    _lines_can_be_read,
    _includes_can_be_followed,
    *slurm_parameters.RULES,
    *slurm_records.RULES,
)
