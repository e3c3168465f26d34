"""A text of Python in which the parser's places can be found again."""

import ast
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, order=True)
class Edit:
    """Bytes ``start`` to ``end`` of a text, and what takes their place."""

    start: int
    end: int
    text: str


class Source:
    """A text, whose places count its bytes in UTF-8, as the parser's columns do."""

    def __init__(self, text: str) -> None:
        self._bytes = text.encode()
        lines = self._bytes.splitlines(keepends=True)
        self._starts = [0, *accumulate(map(len, lines))]

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return where a node begins, and where it has ended; brackets around it do not count."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def text(self, start: int, end: int) -> str:
        """Return the text between two places."""
        return self._bytes[start:end].decode()

    def of(self, node: ast.expr | ast.stmt) -> str:
        """Return a node's text."""
        return self.text(*self.span(node))

    def line(self, place: int) -> int:
        """Return the number of a place's line, from 1 on."""
        return self._bytes.count(b"\n", 0, place) + 1

    def edited(self, edit: Edit) -> str:
        """Return the text after an edit."""
        changed = self._bytes[: edit.start] + edit.text.encode() + self._bytes[edit.end :]
        return changed.decode()
