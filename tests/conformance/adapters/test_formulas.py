"""Formulas compute what Python would for each case, and nothing else is in them."""

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.formulas import evaluate

COLUMNS = {
    "shift": np.array([-31, -1, 0, 7], np.int8),
    "acc": np.array([-(2**31), -5, 5, 2**31 - 1], np.int32),
    "list": np.array([[1, 2], [3, 4], [5, 6], [7, 8]], np.int8),
}


@pytest.mark.parametrize(
    "text",
    [
        "-shift",
        "max(-shift, 0)",
        "min(shift, 3, -2)",
        "abs(acc) * acc + shift",
        "acc // 3 - acc % 7",
        "acc << 40 | shift & 0xFF",
        "(acc >> 3) ^ ~shift",
        "acc if shift < 0 and acc != -5 else 31 - shift",
        "shift == 0 or not acc > 0",
        "0 < shift < 5",
        "1 << shift if shift > 0 else 0",
        "5",
    ],
)
def test_a_formula_is_what_python_computes(text: str) -> None:
    found = evaluate("x", text, COLUMNS)
    expected = [
        int(eval(text, {"shift": int(shift), "acc": int(acc)}))
        for shift, acc in zip(COLUMNS["shift"], COLUMNS["acc"], strict=True)
    ]
    assert found.tolist() == expected


def test_a_list_goes_with_the_number_of_its_case() -> None:
    found = evaluate("x", "list * 2 - shift", COLUMNS)
    assert found.tolist() == [[33, 35], [7, 9], [10, 12], [7, 9]]
    assert evaluate("x", "clip(list, 2, 6)", COLUMNS).tolist()[0] == [1 + 1, 2]


def test_a_function_of_the_columns_is_a_formula() -> None:
    assert evaluate("x", lambda columns: columns["shift"] * 2, COLUMNS).tolist() == [-62, -2, 0, 14]


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("shift / 2", "use // or >>"),
        ("__import__('os')", "no column '__import__'; .* and the functions min, max, abs, clip"),
        ("shift[0]", "TypeError: 'int' object is not subscriptable"),
        ("[s for s in shift]", "no column 's'"),
        ("'a'", "gives 'a'; integers are needed"),
        ("1.5", "gives 1.5; integers are needed"),
        ("shft", "no column 'shft'; there are shift, acc, list"),
        ("1 << shift", "1 << shift: ValueError: negative shift count"),
        ("acc // shift", "ZeroDivisionError"),
        ("abs(acc, 1)", "TypeError: abs.. takes exactly one argument"),
        ("shift +", "'shift \\+' is no formula"),
        (lambda columns: columns["shift"] * 0.5, "integers are needed"),
        (lambda columns: columns["shift"][:2], "has shape"),
        (1.5, "1.5 is no formula"),
    ],
)
def test_what_is_no_formula_is_refused(formula: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        evaluate("Mine.inputs['x']", formula, COLUMNS)  # pyright: ignore[reportArgumentType]
    assert str(caught.value).startswith("Mine.inputs['x']: ")
