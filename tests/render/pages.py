"""The page of a plan, parsed."""

from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser

from attrs import define, field

# Elements without an end.
_VOID = frozenset({"meta", "input", "br"})


@define
class Element:
    """An element with what is in it."""

    tag: str
    attributes: dict[str, str] = field(factory=dict)
    inner: list["Element | str"] = field(factory=list)

    @property
    def text(self) -> str:
        """All text in it."""
        return "".join(part if isinstance(part, str) else part.text for part in self.inner)

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """Return what is within it, at any depth, with these attributes."""
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [one for one in self._within() if tag in ("", one.tag) and wanted.items() <= one.attributes.items()]

    def one(self, tag: str = "", **attributes: str) -> "Element":
        """Return the only such element."""
        (found,) = self.all(tag, **attributes)
        return found

    def _within(self) -> Iterator["Element"]:
        for part in self.inner:
            if isinstance(part, Element):
                yield part
                yield from part._within()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("")]

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in {tag}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inner.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.open[-1].inner.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"{tag} ends within {self.open[-1].tag}"
        self.open.pop()

    def handle_data(self, data):
        self.open[-1].inner.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def unknown_decl(self, data):
        raise AssertionError(f"a declaration: {data}")


def parsed(page: str) -> Element:
    """Return a page's root; every element in it ends where it should."""
    parser = _Parser()
    parser.feed(page)
    parser.close()
    assert len(parser.open) == 1, [element.tag for element in parser.open]
    return parser.open[0]


def shape(page: Element) -> Counter[tuple[str, ...]]:
    """Return which elements there are, each with the names of its attributes, and how often."""
    return Counter((element.tag, *sorted(element.attributes)) for element in page.all())
