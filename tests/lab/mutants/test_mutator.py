"""Mutants of Amaranth's source: where they are, what they are, and that they can be had again."""

import ast

import pytest

from eightfold.common.files import IMPORT_ROOT
from lab.mutants.mutator import KINDS, draw, mutants

HEAD = "def elaborate(self, platform):\n    m = Module()\n"


def changes(line):
    """Return (kind, the line afterwards) of every mutant of a statement."""
    text = f"{HEAD}    {line}\n"
    before = text.splitlines()
    found = set()
    for mutant in mutants("a.py", text):
        after = mutant.after.splitlines()
        assert after[:2] == before[:2] and len(after) == len(before) and mutant.line == 3
        found.add((mutant.kind, after[2].strip()))
    return found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("m.d.sync += a.eq(b)", {("statement", "m.d.sync += []")}),
        (
            "m.d.comb += [a.eq(b), c.eq(d)]",
            {
                ("statement", "m.d.comb += [*(), c.eq(d)]"),
                ("statement", "m.d.comb += [a.eq(b), *()]"),
            },
        ),
        ("m.d[domain] += a.eq(b)", {("statement", "m.d[domain] += []")}),
        ("connect(m, a, b)", {("statement", "pass")}),
        ("wiring.connect(m, a, b)", {("statement", "pass")}),
        ("x = (a) + b", {("operator", "x = (a) - b")}),
        ("x = a ^ b", {("operator", "x = a | b"), ("operator", "x = a & b")}),
        ("x = a << b", {("operator", "x = a >> b")}),
        ("x = (a < b)", {("comparison", "x = (a <= b)"), ("comparison", "x = (a >= b)")}),
        ("x = a == b", {("comparison", "x = a != b")}),
        ("x = 7", {("constant", "x = 8"), ("constant", "x = 6")}),
        ("x = 0", {("constant", "x = 1")}),
        ("x = unsigned(1)", {("constant", "x = unsigned(0)")}),
        ("x = unsigned(width=n)", set()),
        ("x = unsigned(8)", {("constant", "x = unsigned(9)"), ("constant", "x = unsigned(7)")}),
        ("x = f(y=True)", {("constant", "x = f(y=False)")}),
        ("x = y[n:]", {("slice", "x = y[(n) + 1:]"), ("slice", "x = y[(n) - 1:]")}),
        ("x = Signal()", {("reset", "x = Signal(init=1)")}),
        ("x = Signal(n, )", {("reset", "x = Signal(n, init=1)")}),
        ("x = Signal(n, reset_less=True)", set()),
        ("x = Signal(init=0)", {("constant", "x = Signal(init=1)")}),
        ("x = ~(a)", {("inversion", "x = (a)")}),
        ("x = Mux(a, b, c)", {("mux", "x = Mux(a, c, b)"), ("mux", "x = (b)"), ("mux", "x = (c)")}),
        (
            "with m.If(a): pass",
            {("condition", "with m.If((a) == 0): pass"), ("condition", "with m.If(1): pass")},
        ),
        (
            "with m.Elif(a): pass",
            {
                ("condition", "with m.Elif((a) == 0): pass"),
                ("condition", "with m.Elif(1): pass"),
                ("elif", "with m.If(a): pass"),
            },
        ),
    ],
)
def test_a_statement_has_these_mutants(line, found):
    assert changes(line) == found


@pytest.mark.parametrize(
    "line",
    [
        "raise ValueError(f'{n + 1} is more than 7')",
        "assert n + 1 < 7",
        "x: Annotated[Signal, Out(7)]",
        "if n < 7: raise ValueError",
        "def f(n: int = 7): pass",
        "text = 'a + b'",
    ],
)
def test_what_is_no_hardware_is_left_alone(line):
    assert changes(line) == set()


def test_places_behind_other_than_ascii_are_found():
    assert changes("x = f('\u00e4\u20ac', a & b)") == {("operator", "x = f('\u00e4\u20ac', a | b)")}


def test_the_diff_shows_the_change():
    [mutant] = mutants("hw/a.py", "x = a & b\n")
    assert mutant.diff == "--- hw/a.py\n+++ hw/a.py\n@@ -1 +1 @@\n-x = a & b\n+x = a | b\n"


def hardware():
    folder = IMPORT_ROOT / "hw"
    return {
        path.relative_to(folder.parent).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*.py")
    }


@pytest.mark.slow
@pytest.mark.long
def test_the_hardware_has_mutants_of_every_kind_and_all_can_be_parsed():
    every = draw(hardware(), 100_000, 0)
    assert {mutant.kind for mutant in every} == set(KINDS)
    drawn = every[:400]
    assert len({(mutant.path, mutant.after) for mutant in drawn}) == 400
    for mutant in drawn:
        assert ast.dump(ast.parse(mutant.after)) != ast.dump(ast.parse(mutant.before))


@pytest.mark.slow
def test_the_seed_chooses():
    files = hardware()
    several = draw(files, 50, 3)
    assert several == draw(dict(reversed(files.items())), 50, 3)
    assert several[:20] == draw(files, 20, 3)
    assert several != draw(files, 50, 4)
    few = {"a.py": "x = a & b\n"}
    assert draw(few, 50, 0) == mutants("a.py", few["a.py"])
