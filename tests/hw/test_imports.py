"""What the hardware imports of `eightfold`: little, and Verilog is made anew when it changes."""

import ast
import tomllib
from pathlib import Path

import pytest

from eightfold.config import PRESETS
from eightfold.verilog import unit_recipe

ROOT = Path(__file__).parents[2]
MAY = {"config", "isa", "packing", "streams"}
"""Modules of `eightfold` that a component may import."""


def imported(path: Path) -> set[str]:
    """Return the modules of `eightfold` that a file imports."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "eightfold":
            names |= {f"eightfold.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(str(node.module))
    return {name.split(".")[1] for name in names if name.startswith("eightfold.")}


def test_components_import_four_modules_at_most() -> None:
    found = {name for path in (ROOT / "hw").glob("*.py") for name in imported(path)}
    assert found <= MAY


def test_ruff_refuses_every_other_module() -> None:
    rules = tomllib.loads((ROOT / "hw" / "ruff.toml").read_text(encoding="utf-8"))
    banned = set(rules["lint"]["flake8-tidy-imports"]["banned-api"])
    paths = (ROOT / "eightfold").iterdir()
    modules = {
        path.stem for path in paths if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    others = modules - MAY - {"__init__"}
    assert banned == {"golden", "sim", *(f"eightfold.{name}" for name in others)}


def test_a_units_recipe_depends_on_all_that_the_hardware_imports(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources, left = set((ROOT / "hw").glob("*.py")), list((ROOT / "hw").glob("*.py"))
    while left:
        found = {ROOT / "eightfold" / f"{name}.py" for name in imported(left.pop())} - sources
        sources |= found
        left += found
    assert ROOT / "eightfold" / "streams.py" in sources
    config, read = PRESETS["nano"], Path.read_bytes
    before = unit_recipe("lane", config)
    for changed in sources:
        monkeypatch.setattr(
            Path,
            "read_bytes",
            lambda path, changed=changed: read(path) + b"#" * (path.resolve() == changed),
        )
        assert unit_recipe("lane", config) != before, changed
        monkeypatch.undo()
    assert unit_recipe("lane", config) == before
