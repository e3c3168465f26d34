"""Values and the bits of ports are one the other's inverse, whatever the widths."""

from pathlib import Path

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import (
    Element,
    PortBits,
    check_range,
    read_words,
    write_words,
)
from eightfold.conformance.answers import MISSING, UNKNOWN


def test_words_have_their_fields_where_they_were_put(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    narrow = rng.integers(-4, 8, 20000)
    lists = rng.integers(-(2**8), 2**9, (20000, 3))
    wide = np.array([int(value) << 70 for value in rng.integers(0, 2**30, 20000)], object)
    path = tmp_path / "words.hex"
    write_words(path, [(narrow, 0, 3), (lists, 3, 27), (wide, 31, 100)], 131, 20000)
    lines = path.read_text().split()
    for row in (0, 8191, 8192, 19999):
        word = int(lines[row], 16)
        assert word & 7 == narrow[row] & 7
        assert [word >> (3 + 9 * index) & 511 for index in range(3)] == list(lists[row] & 511)
        assert word >> 31 == wide[row]
    assert {len(line) for line in lines} == {34}


def test_results_are_read_with_sign_and_what_is_unknown_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "results.hex"
    path.write_text("1ff7\n0x07\n00ZX\n07")
    elements = [
        Element("one", 0, 4, True),
        Element("list", 0, 4, False),
        Element("list", 1, 5, True),
    ]
    results, count = read_words(path, elements, {"one": (4,), "list": (4, 2)})
    assert count == 3
    assert results["one"].tolist() == [7, 7, UNKNOWN, MISSING]
    assert results["list"].tolist() == [[15, -1], [0, UNKNOWN], [UNKNOWN, 0], [MISSING, MISSING]]
    nothing, count = read_words(tmp_path / "absent", elements, {"one": (2,), "list": (2, 2)})
    assert count == 0
    assert (nothing["list"] == MISSING).all()


def test_places_are_ports_or_bits_of_them() -> None:
    assert PortBits.parse("x", "data") == PortBits("data")
    assert PortBits.parse("x", "data[5]") == PortBits("data", 5, 5)
    assert PortBits.parse("x", " data[ 7:0 ]").within("x", 8) == (0, 8)
    assert str(PortBits("data", 7, 4)) == "data[7:4]"
    for wrong in ("data[0:7]", "1data", "data[a]", "data[-1]"):
        with pytest.raises(InputError, match="x: "):
            PortBits.parse("x", wrong)


@pytest.mark.parametrize("value", [255, -128])
def test_values_fit_with_or_without_a_sign(value: int) -> None:
    check_range("x", np.array([0, value]), 8)
    for beyond in (256, -129):
        with pytest.raises(InputError, match=f"x: is {beyond} in case 1, which 8 bits do not hold"):
            check_range("x", np.array([0, beyond]), 8)
