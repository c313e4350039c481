"""Text that may be kept and written, and never shown."""

from attrs import field, frozen


@frozen
class Hidden:
    """A text with a secret in it. It compares by value, and no representation of it holds any of that."""

    value: str = field(repr=False)

    def __str__(self) -> str:
        return "<hidden>"
