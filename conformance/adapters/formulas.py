"""Formulas over columns: what an implementation's field is, in terms of the cases'.

A formula is a column's name, a number, a text such as ``"-shift"`` or ``"max(-shift, 0)"``, or a
function of the columns. Texts are Python expressions of columns, numbers and the functions ``min``,
``max``, ``abs`` and ``clip(x, low, high)``, computed for each case, or each element of a list, with
integers of any size.
"""

import ast
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.answers import Columns

Formula = str | int | Callable[[Columns], Any]
"""What a field is; see the module."""

_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "abs": abs,
    "clip": lambda x, low, high: min(max(x, low), high),
}


def check_formula(what: str, formula: Formula) -> None:
    """Raise `InputError` if a formula cannot be one, whatever the columns are."""
    if isinstance(formula, str):
        _parsed(what, formula)
    elif not isinstance(formula, int) and not callable(formula):
        raise InputError(
            f"{what}: {formula!r} is no formula; use a column, a number, a text or a function"
        )


def evaluate(what: str, formula: Formula, columns: Columns) -> NDArray[Any]:
    """Return a formula's values: integers, of a numpy type or Python's own.

    ``what``: what it is the formula of, for messages. ``columns``: integers. Their shape and that
    of the values is (cases,), or (cases, length).

    Raises InputError if it names what is no column, cannot be computed, or has other values or
    shapes.
    """
    count = len(next(iter(columns.values())))
    if isinstance(formula, str) and formula.strip() in columns:
        return np.asarray(columns[formula.strip()])
    check_formula(what, formula)
    try:
        if isinstance(formula, str):
            found = _computed(what, formula, columns)
        else:
            found = formula(columns) if callable(formula) else np.array(int(formula), object)
    except InputError:
        raise
    except Exception as error:
        text = formula if isinstance(formula, str) else getattr(formula, "__name__", "function")
        raise InputError(f"{what}: {text}: {type(error).__name__}: {error}") from None
    array = np.asarray(found)
    if array.dtype == np.bool_:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuO":
        raise InputError(f"{what}: is {array.dtype}; integers are needed")
    if array.ndim == 0:
        array = np.full(count, array.item(), array.dtype)
    if array.ndim > 2 or len(array) != count:
        raise InputError(f"{what}: has shape {array.shape}; (cases,) or (cases, length) is needed")
    return array


def _parsed(what: str, text: str) -> ast.Expression:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError):
        raise InputError(f"{what}: {text!r} is no formula") from None
    if any(isinstance(each, ast.Div) for each in ast.walk(tree)):
        raise InputError(f"{what}: {text!r}: / makes no integers; use // or >>")
    return tree


def _computed(what: str, text: str, columns: Columns) -> NDArray[Any]:
    """Return the integers of a text, as Python computes it case by case."""
    tree = _parsed(what, text)
    names = sorted({each.id for each in ast.walk(tree) if isinstance(each, ast.Name)})
    used = [name for name in names if name in columns]
    if unknown := [name for name in names if name not in columns and name not in _FUNCTIONS]:
        there = f"{', '.join(columns)}, and the functions {', '.join(_FUNCTIONS)}"
        raise InputError(f"{what}: {text!r}: no column {unknown[0]!r}; there are {there}")
    globals_ = {"__builtins__": {}, **_FUNCTIONS}
    function = eval(f"lambda {', '.join(used)}: ({text.strip()})", globals_)
    if not used:
        return np.array(_integer(what, text, function()), object)
    arrays = [np.asarray(columns[name]) for name in used]
    # The number of a case goes with each element of its list.
    if any(array.ndim == 2 for array in arrays):
        arrays = [array if array.ndim == 2 else array[:, None] for array in arrays]
    arrays = np.broadcast_arrays(*arrays)
    found = map(function, *(array.ravel().tolist() for array in arrays))
    values = np.array([_integer(what, text, value) for value in found], object)
    return values.reshape(arrays[0].shape)


def _integer(what: str, text: str, value: object) -> int:
    if not isinstance(value, int):
        raise InputError(f"{what}: {text}: gives {value!r}; integers are needed")
    return int(value)
