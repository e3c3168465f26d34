"""The part of a Markdown document that a command writes, between two comments, and its tables."""

from collections.abc import Iterable, Sequence


def begin(name: str) -> str:
    """Return the comment in front of the generated part ``name``."""
    return f"<!-- {name}: begin -->"


def end(name: str) -> str:
    """Return the comment behind the generated part ``name``."""
    return f"<!-- {name}: end -->"


def replace_between(text: str, name: str, content: str) -> str:
    """Return ``text`` with ``content`` (whole lines) between the markers of ``name``.

    Raises `ValueError` if the markers are missing.
    """
    head, _, tail = _parts(text, name)
    return f"{head}{begin(name)}\n{content}{end(name)}{tail}"


def between(text: str, name: str) -> str:
    """Return the lines between the markers of ``name``, as `replace_between` finds them."""
    return _parts(text, name)[1].lstrip("\n")


def _parts(text: str, name: str) -> tuple[str, str, str]:
    """Return what is before, between and behind the markers of ``name``."""
    head, found, rest = text.partition(begin(name))
    content, found_end, tail = rest.partition(end(name))
    if not (found and found_end):
        raise ValueError(f"the markers {begin(name)} and {end(name)} are missing")
    return head, content, tail


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], text: int | None = None) -> str:
    """Return a Markdown table, the first ``text`` columns to the left, the others to the right.

    Without ``text`` all columns are to the left.
    """
    left = len(head) if text is None else text
    align = "|" + "---|" * left + "--:|" * (len(head) - left)
    lines = [f"| {' | '.join(cells)} |" for cells in (head, *rows)]
    return "\n".join([lines[0], align, *lines[1:]]) + "\n"
