"""Mutants of a file of eight lines, judged with a test of its own in a checkout of its own."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from eightfold.common.errors import InputError
from eightfold.common.files import IMPORT_ROOT
from lab.mutants.benches import Bench
from lab.mutants.judge import Accepted, Judge, _place_of_proof, changed
from lab.mutants.mutator import Mutant, mutants

UNITS = """
def _unit(module, name):
    def build(config):
        from eightfold.hw import tiny
        return tiny.Tiny()
    return build
UNITS = {"tiny": _unit("tiny", "Tiny")}
"""

TINY = """
from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

class Tiny(wiring.Component):
    a: In(4)
    y: Out(4)
    z: Out(1)
    def elaborate(self, platform):
        m = Module()
        unused = Signal()
        m.d.sync += self.y.eq(self.a[1:])
        m.d.comb += self.z.eq(~self.a[3])
        for _ in range(1):
            pass
        return m
"""

TEST = """
from amaranth.sim import Simulator
from eightfold.hw.tiny import Tiny

def test_y_is_half_of_a():
    unit = Tiny()
    async def bench(context):
        context.set(unit.a, 6)
        await context.tick()
        while context.get(unit.y) == 7:  # as if waiting for what does not come
            pass
        assert context.get(unit.y) == 3
    simulator = Simulator(unit)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with other hardware, and a test of it."""
    root = tmp_path_factory.mktemp("checkout")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(IMPORT_ROOT / "eightfold", root / "eightfold", symlinks=True, ignore=ignored)
    for name in ("conformance", "golden", "sim"):
        (root / name).symlink_to(IMPORT_ROOT / name)
    files = {
        "hw/__init__.py": "",
        "hw/units.py": UNITS,
        "hw/tiny.py": TINY,
        "tests/hw/test_tiny.py": TEST,
        "pyproject.toml": '[tool.pytest.ini_options]\nmarkers = ["slow", "long"]\n'
        'addopts = "-ra --import-mode=importlib"\n',
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def judge(checkout: Path, tmp_path: Path, mutant: Mutant, *accepted: Accepted):
    measured = {"tests/hw/test_tiny.py": {"quick": -5.0}}  # so that what hangs ends after 10 s
    with Judge(checkout, accepted, measured, ["nano"], tmp_path / "place") as it:
        found = it.judge(mutant)
        assert (it._scratch.tree / mutant.path).read_text() == mutant.before
    return found


def mutant(old: str, new: str, kind: str = "constant") -> Mutant:
    assert TINY.count(old) == 1
    line = TINY[: TINY.index(old)].count("\n") + 1
    return Mutant("hw/tiny.py", 0, kind, line, TINY, TINY.replace(old, new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("self.a[1:]", "self.a[2:]", "13: caught: tests/hw/test_tiny.py::test_y_is_half_of_a"),
        ("self.a[1:]", "7", "13: caught: tests/hw/test_tiny.py (quick tests) has no end"),
        (
            "~self.a[3]",
            "(self.a[3])",
            "14: survived: no test fails in 1 runs of tests that import the file",
        ),
        (
            "~self.a[3]",
            "~(self.a[3] & self.a[3])",
            "14: equivalent: Yosys proves that it computes the same",
        ),
        ("Signal()", "Signal(init=1)", "12: equivalent: the netlist is the same in tiny of nano"),
        (
            "~self.a[3]",
            "~self.a[4]",
            "14: invalid: tiny of nano does not elaborate: "
            "IndexError: Index 4 is out of bounds for a 4-bit value",
        ),
    ],
)
@pytest.mark.usual(names=["test_y_is", "the netlist", "invalid"])
def test_a_mutant_is_judged(checkout, tmp_path, monkeypatch, old, new, message):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(checkout / "cache"))
    found = judge(checkout, tmp_path, mutant(old, new))
    assert found.message == f"constant in line {message}"
    shown = found.how == "survived"
    assert (f"-{TINY.splitlines()[found.line - 1]}\n" in found.log) == shown
    assert ("not caught by tests/hw/test_tiny.py (quick tests)" in found.log) == shown
    assert not list((tmp_path / "place").glob("*/"))  # all that was copied is gone


@pytest.mark.slow
def test_a_survivor_that_is_accepted_has_its_reason(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(checkout / "cache"))
    it = mutant("~self.a[3]", "(self.a[3])", "inversion")
    lines = ("m.d.comb += self.z.eq(~self.a[3])", "m.d.comb += self.z.eq((self.a[3]))")
    known = Accepted("hw/tiny.py", "inversion", lines[0], lines[1], "z leads nowhere")
    found = judge(checkout, tmp_path, it, known)
    assert found.message == "inversion in line 14: accepted: z leads nowhere"
    found = judge(checkout, tmp_path, it, replace(known, equivalent=True))
    assert found.message == "inversion in line 14: equivalent: z leads nowhere"
    assert changed(it) == lines
    for other in (
        replace(known, kind="constant"),
        replace(known, file="hw/other.py"),
        replace(known, before=lines[1], after=lines[0]),
    ):
        assert not other.is_of(it)


@pytest.mark.slow
def test_a_test_that_fails_anyway_tells_nothing(checkout, tmp_path, monkeypatch):
    monkeypatch.setenv("EIGHTFOLD_CACHE", str(tmp_path / "cache"))
    broken = tmp_path / "broken"
    shutil.copytree(checkout, broken, symlinks=True)
    (broken / "tests/hw/test_tiny.py").write_text(TEST.replace("== 3", "== 2"))
    with pytest.raises(InputError, match="test_tiny.py.* fails on the hardware as it is"):
        judge(broken, tmp_path, mutant("~self.a[3]", "(self.a[3])"))


@pytest.mark.parametrize(
    ("seconds", "place"),
    [((), 0), ((3.0,), 1), ((90.0, 3.0), 1), ((3.0, 56.9, 0.1, 40.0), 3), ((3.0, 4.0), 2)],
)
def test_a_proof_is_tried_when_tests_took_as_long(seconds, place):
    assert _place_of_proof([Bench("tests", "quick", each) for each in seconds]) == place


def test_accepted_mutants_are_mutants_of_the_hardware():
    from lab.mutants.judge import every_accepted

    for each in every_accepted():
        every = mutants(each.file, (IMPORT_ROOT / each.file).read_text("utf-8"))
        assert any(each.is_of(mutant) for mutant in every), each
        assert each.reason
