"""What tests ask of a page: its elements, links and texts."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = {"meta", "link", "br", "hr", "img", "input", "use", "path"}

_BLOCKS = {"td", "th", "dt", "dd", "p", "li"}


@dataclass
class Element:
    """An element: its tag and attributes, the elements in it, and its text with theirs."""

    tag: str
    attributes: dict[str, str]
    children: list["Element"] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text, blanks joined."""
        return re.sub(r"\s+", " ", "".join(self.texts)).strip()

    def all(self, tag: str, of_class: str = "") -> list["Element"]:
        """Return the elements of a tag within this one."""
        found = [] if self.tag != tag or of_class not in self.classes else [self]
        return found + [each for child in self.children for each in child.all(tag, of_class)]

    @property
    def classes(self) -> list[str]:
        """The classes, and an empty one that every element has."""
        return ["", *self.attributes.get("class", "").split()]

    def by_id(self, name: str) -> "Element":
        """Return the one element of an id."""
        (found,) = [each for each in self.every() if each.attributes.get("id") == name]
        return found

    def every(self) -> list["Element"]:
        """Return this element and all within."""
        return [self, *(each for child in self.children for each in child.every())]

    def follow(self, link: "Element") -> "Element":
        """Return where a link within the page leads."""
        return self.by_id(link.attributes["href"].removeprefix("#"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in _VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in [each.tag for each in self.open]:
            while self.open.pop().tag != tag:
                pass
        if tag in _BLOCKS:
            self.handle_data(" ")

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)


def read_html(text: str) -> Element:
    """Return the elements of a page."""
    reader = _Reader()
    reader.feed(text)
    return reader.open[0]


def broken_links(page: Element) -> list[str]:
    """Return links that lead to no element, and ids that several elements have."""
    ids = [each.attributes["id"] for each in page.every() if "id" in each.attributes]
    links = [link.attributes["href"] for link in page.all("a")]
    doubled = [name for name in ids if ids.count(name) > 1]
    return doubled + [link for link in links if link.removeprefix("#") not in ids]
