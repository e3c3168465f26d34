"""What the message of a failing bench says of a requantization, held against golden."""

import re

from eightfold.golden.requantize import requantize

_INPUTS = re.compile(
    r"inputs: acc (?P<acc>-?\d+), bias (?P<bias>-?\d+), left (?P<left>\d+), "
    r"multiplier (?P<multiplier>\d+), single (?P<single>\d), right (?P<right>\d+), "
    r"rounding (?P<rounding>\d) \(\w+\), zero_point (?P<zero_point>-?\d+), "
    r"low (?P<low>-?\d+), high (?P<high>-?\d+)"
)


def check_explained(text: str) -> None:
    """Assert that a message has a requantization's inputs, its steps, and what it should give.

    A message of something else than a wrong word, such as a bench that stands still, has none.
    """
    differences = re.findall(r"(?:differs|as int8): got (-?\d+), expected (-?\d+)", text)
    if not differences or "no command writes it" in text or "does not write this byte" in text:
        return
    got, expected = map(int, differences[-1])
    assert got != expected
    found = _INPUTS.search(text)
    assert found, text
    numbers = {name: int(number) for name, number in found.groupdict().items()}
    assert int(requantize(numbers.pop("acc"), **numbers)) == expected
    assert re.search(r"rounding_shift\(-?\d+, right \d+, \w+\) = ", text)
    (last,) = re.findall(r"clamp\(.*\) = (-?\d+)", text)
    assert int(last) == expected
