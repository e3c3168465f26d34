"""Documents of JSON formats against what is written: a table of fields below each heading."""

import re
from pathlib import Path
from typing import Any

KINDS = {
    "integer": int,
    "number": (int, float),
    "string": str,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "list": list,
}


def documented(document: Path, section: str) -> dict[str, str]:
    """Return the fields in the table below a heading, and their types in words."""
    text = document.read_text("utf-8").partition(f"# {section}\n")[2].partition("\n#")[0]
    return dict(re.findall(r"^\| `(\w+)` \| ([\w ]+) \|", text, re.MULTILINE))


def check_types(values: dict[str, Any], document: Path, section: str) -> None:
    """Check that an object has the documented fields, in their order and of their types."""
    fields = documented(document, section)
    assert list(values) == list(fields)
    for name, words in fields.items():
        kinds = [KINDS[word.split()[0]] for word in words.split(" or ")]
        assert any(isinstance(values[name], kind) for kind in kinds), name
        assert "boolean" in words or not isinstance(values[name], bool), name
