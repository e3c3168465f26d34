"""Units and runtimes of others, and ours, judged: ``python -m lab.others --sources DIR``.

``recipe.toml`` says whose a unit is, at which commit, within which profile, and how it is asked. No
code of others is here: DIR has their files. ``results.json`` keeps what was found, and
`lab.documents.others` makes the tables of docs/conformance-table.md of it.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.json"


def units() -> list[dict[str, Any]]:
    """Return the units in the order of the table, as the recipe's comment describes them."""
    table = tomllib.loads((HERE / "recipe.toml").read_text(encoding="utf-8"))["unit"]
    defaults = {"contract": "", "repository": "", "commit": "", "files": {}, "show": [], "rtl": {}}
    return [{**defaults, **each} for each in table]


def read_results() -> dict[str, dict[str, Any]]:
    """Return what was found, by the units' names; nothing before anything was."""
    return json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
