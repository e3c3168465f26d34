"""Rooms: imports run down and make no circle, Verilog follows its sources."""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from importlib.metadata import version
from pathlib import Path

import pytest

import eightfold
from eightfold.common.errors import HardwareError
from eightfold.common.files import IMPORT_ROOT
from eightfold.rtl.verilog import PACKAGE, hardware_sources, unit_recipe
from eightfold.target.config import PRESETS

LINKED = ("boards", "conformance", "golden", "hw", "sim")
"""The folders at the top that are rooms of `eightfold` by a link."""

FOLDERS = (PACKAGE, *(PACKAGE / name for name in LINKED), IMPORT_ROOT / "lab")
"""`eightfold`, what it links to, and the laboratory."""

FLOORS = (
    ("eightfold.common", "eightfold.golden"),
    ("eightfold.target",),
    ("eightfold.isa", "eightfold.common.program"),
    ("eightfold.hw", "eightfold.model", "eightfold.estimate"),
    ("eightfold.operators", "eightfold.rtl"),
    ("eightfold.synth", "eightfold.compiler"),
    ("eightfold.cases", "eightfold.conformance.units", "eightfold.importer"),
    ("eightfold.sim",),
    ("eightfold.boards",),
    ("eightfold.run",),
    ("eightfold.campaign",),
    ("eightfold.cli",),
    ("eightfold.conformance",),
    ("lab",),
)
"""The rooms from the ground up: an import leads to a lower floor or stays in its room."""

STRANGERS = {
    "eightfold.golden": ("amaranth", "cocotb", "ai_edge_litert", "click", "rich"),
    "eightfold.hw": ("cocotb", "numpy", "click", "rich"),
    "eightfold.boards": ("amaranth", "cocotb"),
}
"""Packages that a room must do without: golden needs numpy alone, the hardware no simulator, boards
the Verilog and not what it is made of."""


def modules() -> dict[str, Path]:
    """Return every module of `eightfold` by its name."""
    return {
        ".".join(path.relative_to(IMPORT_ROOT).with_suffix("").parts).removesuffix(
            ".__init__"
        ): path
        for folder in FOLDERS
        for path in folder.rglob("*.py")
    }


def top(module: str) -> str:
    """Return the house or the room of `eightfold` that a module is in."""
    parts = module.split(".")
    return parts[0] if parts[0] == "lab" else ".".join(parts[:2])


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


def named(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the line of each import of a file, and the package at the root of what it names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.lineno, str(node.module).partition(".")[0]


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


@pytest.mark.slow
def test_modules_import_in_no_circle(imports: dict[str, set[str]]) -> None:
    assert "eightfold.hw.accelerator" in imports
    # A package's name may be imported for what it offers, which its modules make.
    inner = {
        name: {other for other in others if not name.startswith(f"{other}.")}
        for name, others in imports.items()
    }
    list(TopologicalSorter(inner).static_order())


@pytest.mark.slow
def test_rooms_import_in_no_circle(imports: dict[str, set[str]]) -> None:
    graph: dict[str, set[str]] = {}
    for name, others in imports.items():
        if room(name) not in ("eightfold", "lab"):  # whose modules are above some, below others
            # A room and the rooms inside it are one house: their modules make no circle.
            rooms = {
                other
                for other in map(room, others)
                if not f"{other}.".startswith(f"{room(name)}.")
                and not f"{room(name)}.".startswith(f"{other}.")
            }
            graph.setdefault(room(name), set()).update(rooms)
    list(TopologicalSorter(graph).static_order())


@pytest.mark.slow
def test_nothing_is_imported_past_its_name() -> None:
    # The root of a checkout is on the path: `golden` would be a second copy of `eightfold.golden`.
    sources = [
        path
        for folder in (*FOLDERS, IMPORT_ROOT / "tests", IMPORT_ROOT / "examples")
        for path in folder.rglob("*.py")
    ]
    assert len(sources) > 400
    assert not [f"{p}:{line}" for p in sources for line, name in named(p) if name in LINKED]


def floor(module: str) -> int:
    """Return the floor of a module: that of the longest name in `FLOORS` that it is under."""
    at = {name: height for height, names in enumerate(FLOORS) for name in names}
    while module not in at:
        module = module[: module.rindex(".")]
    return at[module]


def test_imports_go_down(imports: dict[str, set[str]]) -> None:
    rooms = {name for names in FLOORS for name in names}
    wrong = [
        f"{name} imports {other}"
        for name, others in imports.items()
        for other in others - {"eightfold"}
        if name != "eightfold" and floor(other) >= floor(name) and top(name) != top(other)
    ]
    assert not wrong
    assert {top(name) for name in imports} <= rooms | {"eightfold"}
    assert all(any(f"{name}.".startswith(f"{room}.") for name in imports) for room in rooms)


@pytest.mark.parametrize("room", STRANGERS)
@pytest.mark.slow
def test_rooms_do_without_packages(room: str) -> None:
    files = [path for name, path in modules().items() if f"{name}.".startswith(f"{room}.")]
    assert len(files) > 3
    assert not {name for path in files for _, name in named(path)} & set(STRANGERS[room])


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


def test_dir_shows_the_api_and_every_name_of_it_is_there() -> None:
    assert dir(eightfold) == sorted(eightfold.__all__)
    assert all(getattr(eightfold, name).__doc__ for name in eightfold.__all__)
    assert eightfold.HardwareError is HardwareError


def test_unknown_names_are_no_attributes() -> None:
    assert not hasattr(eightfold, "Sessions")


def test_the_version_is_that_of_the_package() -> None:
    assert eightfold.__version__ == version("eightfold")


def test_types_are_for_those_who_import_it_too() -> None:
    assert (Path(eightfold.__file__).parent / "py.typed").exists()
