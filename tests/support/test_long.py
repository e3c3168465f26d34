"""Cases that are not long are of every kind that a mark names, the rest of them by turns."""

from types import SimpleNamespace

from tests.support.long import usual

CASES = [
    SimpleNamespace(name=f"{a}-{b}", callspec=SimpleNamespace(params={"a": a, "b": b}))
    for a in "xyz"
    for b in range(4)
]


def names(*arguments: str, **options) -> list[str]:
    return [case.name for case in usual(CASES, *arguments, **options)]


def test_one_case_of_each_value_is_usual_and_others_by_turns() -> None:
    assert names() == ["x-0"]
    assert names("a") == ["x-0", "y-1", "z-2"]
    assert names("b") == ["x-0", "y-1", "z-2", "x-3"]
    assert len(names("a", "b")) == len(CASES)


def test_several_cases_are_spread() -> None:
    assert names(count=3) == ["x-0", "y-0", "z-0"]
    assert names("a", count=2) == ["x-0", "x-2", "y-1", "y-3", "z-2", "z-0"]


def test_cases_are_chosen_by_name_unless_there_are_none() -> None:
    assert names(names=["x-1", "-3"]) == ["x-1", "x-3", "y-3", "z-3"]
    assert len(names(names=["nothing"])) == len(CASES)
