"""Rooms: imports make no circle, the linter knows the rules, Verilog follows its sources."""

import ast
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.rtl.verilog import PACKAGE, hardware_sources, unit_recipe
from eightfold.target.config import PRESETS

FOLDERS = (PACKAGE, *(PACKAGE / name for name in ("conformance", "golden", "hw", "sim")))
"""`eightfold`, and the folders that it links to."""


def modules() -> dict[str, Path]:
    """Return every module of `eightfold` by its name."""
    return {
        ".".join(path.relative_to(IMPORT_ROOT).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for folder in FOLDERS
        for path in folder.rglob("*.py")
    }


def imported(path: Path, known: dict[str, Path]) -> set[str]:
    """Return the modules that a file imports, within functions and for types alone too."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {member if member in known else node.module for member in members}
    return {name for name in names if name in known}


def room(module: str) -> str:
    """Return the package that a module is in; a package's `__init__` speaks for the package."""
    return (
        module
        if (PACKAGE.parent / module.replace(".", "/")).is_dir()
        else module[: module.rfind(".")]
    )


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    known = modules()
    return {name: imported(path, known) for name, path in known.items()}


def test_modules_import_in_no_circle(imports: dict[str, set[str]]) -> None:
    assert "eightfold.hw.accelerator" in imports
    # A package's name may be imported for what it offers, which its modules make.
    inner = {
        name: {other for other in others if not name.startswith(f"{other}.")}
        for name, others in imports.items()
    }
    list(TopologicalSorter(inner).static_order())


def test_rooms_import_in_no_circle(imports: dict[str, set[str]]) -> None:
    graph: dict[str, set[str]] = {}
    for name, others in imports.items():
        if room(name) != "eightfold":  # the modules of its root are above some, below others
            # A room and the rooms inside it are one house: their modules make no circle.
            rooms = {
                other
                for other in map(room, others)
                if not f"{other}.".startswith(f"{room(name)}.")
                and not f"{room(name)}.".startswith(f"{other}.")
            }
            graph.setdefault(room(name), set()).update(rooms)
    list(TopologicalSorter(graph).static_order())


def test_nothing_is_imported_past_its_name() -> None:
    # The root of a checkout is on the path: `golden` would be a second copy of `eightfold.golden`.
    sources = [
        path
        for folder in (*FOLDERS, IMPORT_ROOT / "tests", IMPORT_ROOT / "examples")
        for path in folder.rglob("*.py")
    ]
    names = {"conformance", "golden", "hw", "sim"}
    wrong = [
        f"{path}:{node.lineno}"
        for path in sources
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Import) and names & {a.name.partition(".")[0] for a in node.names})
        or (isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in names)
    ]
    assert len(sources) > 400
    assert not wrong


@pytest.mark.parametrize(
    "folder",
    [
        "golden",
        "hw",
        "sim",
        *(f"eightfold/{name}" for name in ("compiler", "estimate", "execute", "isa", "model")),
    ],
)
def test_the_linter_refuses_what_a_room_does_not_import(
    folder: str, imports: dict[str, set[str]]
) -> None:
    rules = tomllib.loads((IMPORT_ROOT / folder / "ruff.toml").read_text(encoding="utf-8"))
    banned = set(rules["lint"]["flake8-tidy-imports"]["banned-api"])
    package = f"eightfold.{folder.rpartition('/')[2]}."
    parts = {f"eightfold.{name.split('.')[1]}" for name in imports if "." in name}
    used = {
        f"eightfold.{other.split('.')[1]}"
        for name, others in imports.items()
        if f"{name}.".startswith(package)
        for other in others
        if "." in other
    }
    unknown = {name for name in banned if name.startswith("eightfold.")} - parts
    assert not unknown, "bans what does not exist"
    assert not banned & used
    assert "eightfold.cli" in banned


def test_verilog_is_made_anew_when_its_sources_change(
    monkeypatch: pytest.MonkeyPatch, imports: dict[str, set[str]]
) -> None:
    known = modules()
    sources = {name for name in known if name.startswith("eightfold.hw")}
    left = list(sources)
    while left:
        found = imports[left.pop()] - sources - {"eightfold"}
        sources |= found
        left += found
    assert "eightfold.isa.streams" in sources
    assert {known[name].relative_to(PACKAGE) for name in sources} <= set(hardware_sources())
    config = PRESETS["nano"]
    read = Path.read_bytes
    before = unit_recipe("lane", config)
    for name in sources:
        monkeypatch.setattr(
            Path,
            "read_bytes",
            lambda path, changed=known[name]: read(path) + b"#" * path.samefile(changed),
        )
        assert unit_recipe("lane", config) != before, name
        monkeypatch.undo()
    assert unit_recipe("lane", config) == before
