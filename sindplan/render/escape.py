"""Text that others wrote, made harmless: it commands no terminal, and forges no line."""


def escaped(text: str) -> str:
    """Return text whose control characters and direction marks are spelt out; line ends and tabs stay."""
    return "".join(
        char if char in "\n\t" or char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text
    )


def one_line(text: str) -> str:
    """Return text on one line: as `escaped`, and line ends and tabs are spelt out too."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)
