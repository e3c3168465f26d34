"""What a checker makes of properties that hold, that do not, and that say nothing."""

import re
import shutil
from functools import partial

import pytest
from amaranth.hdl import Module, Signal

from eightfold.common.errors import InputError
from lab.formal.checker import COMMAND, Checked, Property, abc_version
from lab.formal.proof import Break

needs_abc = pytest.mark.skipif(shutil.which(COMMAND) is None, reason=f"{COMMAND} is not installed")


def count(p: Property, m: Module, most: int = 4, reached: int = 4, never: bool = False) -> None:
    """A count of a free input from 0 to 4, and not further."""
    step = p.free("step")
    count = Signal(4)
    with m.If(step & (count < 4)):
        m.d.sync += count.eq(count + 1)
    if never:
        p.assume(~step)
    p.always(count <= most)
    p.reaches("it is reached", count == reached)


def checked(depth: int | None = None, **options) -> Checked:
    return Checked(name="", file="", text="", build=partial(count, **options), depth=depth)


@needs_abc
def test_what_holds_is_proved_and_what_does_not_has_an_example() -> None:
    assert checked().prove().how == "proved"
    found = checked(most=2).prove()
    assert (found.how, found.message.rpartition(": ")[2]) == ("refuted", "does not hold in cycle 3")
    assert found.log.splitlines()[:3] == [f"cycle {cycle}: step=0x1" for cycle in range(3)]


@needs_abc
def test_a_depth_says_no_more_than_that() -> None:
    assert checked(depth=3, most=2).prove().how == "proved"
    assert checked(depth=4, most=2).prove().how == "refuted"


@needs_abc
@pytest.mark.parametrize("options", [{"reached": 5}, {"never": True}])
def test_what_is_never_reached_is_refuted(options) -> None:
    found = checked(**options).prove()
    assert (found.how, found.message) == (
        "refuted",
        "1 of these never come in 30 cycles: it is reached",
    )


def test_a_break_replaces_one_text() -> None:
    assert Break("a", "b").applied("cat") == "cbt"
    for text in ("dog", "banana"):
        with pytest.raises(InputError, match="a break replaces one text"):
            Break("a", "b").applied(text)


@needs_abc
def test_abc_says_which_one_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert re.match(r"ABC \d", abc_version())
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert abc_version() == "none"
