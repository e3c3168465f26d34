"""Cases that are not long are of every kind that a mark names, the rest of them by turns."""

from types import SimpleNamespace

from tests.support.long import usual

CASES = [
    SimpleNamespace(name=f"{a}-{b}", callspec=SimpleNamespace(params={"a": a, "b": b}))
    for a in "xyz"
    for b in range(4)
]


def test_cases_are_usual_by_values_number_or_name() -> None:
    def names(*arguments: str, **options) -> str:
        return " ".join(case.name for case in usual(CASES, *arguments, **options))

    assert names() == "x-0"
    assert names("a") == "x-0 y-1 z-2"
    assert names("b") == "x-0 y-1 z-2 x-3"
    assert names(count=3) == "x-0 y-0 z-0"
    assert names("a", count=2) == "x-0 x-2 y-1 y-3 z-2 z-0"
    assert names(names=["x-1", "-3"]) == "x-1 x-3 y-3 z-3"
    assert names(names=["nothing"]) == names("a", "b") == " ".join(case.name for case in CASES)
