"""Frozen sets of vectors: the digests of their recipes, and the table of ``docs/vectors.md``.

``python -m lab.documents sets`` draws those that are in preparation anew, and states what came of
it. A set with a tag has been released: it stays, and what is drawn otherwise gets another version.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from eightfold.conformance.vectors.frozen import RECIPES, Recipe, recipes, write_set
from lab.documents.part import Part, markdown, number, table_part

FILE = Path("conformance/vectors") / RECIPES


def drawn(recipe: Recipe) -> Recipe:
    """Return a recipe with what is drawn by it now; one with a tag as it is."""
    if recipe.tag:
        return recipe
    with tempfile.TemporaryDirectory(prefix="eightfold-") as scratch:
        return write_set(Path(scratch) / "set", Recipe(**{**vars(recipe), "sha256": ""}))


def recipe_text(text: str, made: Callable[[Recipe], Recipe] = drawn) -> str:
    """Return the text of ``sets.json`` with what each recipe gives."""
    table = {name: Recipe(name=name, **facts) for name, facts in json.loads(text).items()}
    stated: Mapping[str, Mapping[str, object]] = {
        name: {k: v for k, v in vars(made(recipe)).items() if k != "name" and (v or k != "claims")}
        for name, recipe in table.items()
    }
    return json.dumps(stated, indent=1) + "\n"


def set_table() -> str:
    """Return a row per set: its cases, size, state and digest."""
    rows = [
        (
            f"`{each.name}`",
            number(each.cases),
            f"{each.size / 1e6:.1f} MB",
            f"release {each.tag}" if each.tag else "in preparation",
            f"`{each.sha256}`",
        )
        for each in recipes().values()
    ]
    return markdown(("set", "cases", "files", "written by", "SHA-256"), rows)


PARTS = (
    Part("sets", FILE, recipe_text, slow=True),
    table_part("sets", Path("docs/vectors.md"), set_table),
)
