"""Formulas over columns: what an implementation's field is, in terms of the cases'.

A formula is a column's name, a number, a text such as ``"-shift"`` or ``"max(-shift, 0)"``, or a
function of the columns. Texts are Python expressions, computed for all cases at once with integers
of any size; nothing but the operators and functions below is in them:

``+ - * // % << >> & | ^ ~``, comparisons, ``and or not``, ``a if condition else b``, and the
functions ``min``, ``max``, ``abs``, and ``clip(x, low, high)``.
"""

import ast
import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError

Columns = Mapping[str, NDArray[Any]]

Formula = str | int | Callable[[Columns], Any]
"""What a field is; see the module."""

Value = Any
"""An array of Python integers, or one of them."""

_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}

_UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.UAdd: lambda value: value,
    ast.USub: operator.neg,
    ast.Invert: operator.invert,
    ast.Not: lambda value: _flag(np.logical_not(_true(value))),
}

_COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}

_FUNCTIONS: dict[str, tuple[range, Callable[..., Value]]] = {
    "min": (range(2, 100), lambda *values: reduce(np.minimum, values)),
    "max": (range(2, 100), lambda *values: reduce(np.maximum, values)),
    "abs": (range(1, 2), operator.abs),
    "clip": (range(3, 4), lambda x, low, high: np.minimum(np.maximum(x, low), high)),
}
"""The numbers of arguments, and the function."""

SHIFT_LIMIT = 4096
"""A shift by more bits is refused."""


def check_formula(what: str, formula: Formula) -> None:
    """Raise `InputError` if a formula cannot be one, whatever the columns are."""
    if isinstance(formula, str):
        _check(what, formula, _parsed(what, formula))
    elif not isinstance(formula, int) and not callable(formula):
        raise InputError(
            f"{what}: {formula!r} is no formula; use a column, a number, a text or a function"
        )


def evaluate(what: str, formula: Formula, columns: Columns) -> NDArray[Any]:
    """Return a formula's values.

    Parameters
    ----------
    what
        What it is the formula of, for messages.
    formula
        See the module.
    columns
        Integers of shape (cases,), or (cases, length).

    Returns
    -------
    Integers, of a numpy type or Python's own, of shape (cases,) or (cases, length).

    Raises
    ------
    InputError
        If it names what is no column, cannot be computed, or has other values or shapes.
    """
    count = len(next(iter(columns.values())))
    if isinstance(formula, str) and formula.strip() in columns:
        return np.asarray(columns[formula.strip()])
    check_formula(what, formula)
    try:
        found = _computed(what, formula, columns)
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


def _computed(what: str, formula: Formula, columns: Columns) -> Value:
    if isinstance(formula, str):
        values = {name: np.asarray(column).astype(object) for name, column in columns.items()}
        return _value(what, formula, _parsed(what, formula), values)
    return formula(columns) if callable(formula) else np.array(int(formula), object)


def _parsed(what: str, text: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError):
        raise InputError(f"{what}: {text!r} is no formula") from None


def _check(what: str, text: str, node: ast.expr) -> None:
    """Raise `InputError` at the first thing that no formula has."""
    for each in ast.walk(node):
        if isinstance(each, ast.BinOp) and type(each.op) not in _BINARY:
            hint = "; use // or >>" if isinstance(each.op, ast.Div) else ""
            raise InputError(f"{what}: {ast.unparse(each)!r} is no operation of formulas{hint}")
        if isinstance(each, ast.Compare) and (
            len(each.ops) > 1 or type(each.ops[0]) not in _COMPARISONS
        ):
            raise InputError(f"{what}: {ast.unparse(each)!r}: compare two values at a time")
        if isinstance(each, ast.Constant) and type(each.value) not in (int, bool):
            raise InputError(f"{what}: {ast.unparse(each)} is no integer")
        if isinstance(each, ast.Call):
            _check_call(what, each)
        if isinstance(each, ast.expr) and not isinstance(each, _KNOWN):
            raise InputError(f"{what}: {ast.unparse(each)!r} in {text!r} is not for formulas")


_KNOWN = (
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
    *(ast.Constant, ast.Name, ast.Call),
)


def _check_call(what: str, call: ast.Call) -> None:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in _FUNCTIONS or call.keywords:
        raise InputError(
            f"{what}: {ast.unparse(call)!r}: the functions are {', '.join(_FUNCTIONS)}"
        )
    if len(call.args) not in _FUNCTIONS[name][0]:
        raise InputError(f"{what}: {ast.unparse(call)!r}: {len(call.args)} arguments")


def _value(what: str, text: str, node: ast.expr, columns: Columns) -> Value:
    def of(inner: ast.expr) -> Value:
        return _value(what, text, inner, columns)

    match node:
        case ast.Constant(value=value):
            return np.array(int(value), object)  # pyright: ignore[reportArgumentType]
        case ast.Name(id=name):
            if name not in columns:
                raise InputError(
                    f"{what}: {text!r}: no column {name!r}; there are {', '.join(columns)}"
                )
            return columns[name]
        case ast.BinOp(left=left, op=op, right=right):
            one, other = _aligned(of(left), of(right))
            if isinstance(op, ast.LShift | ast.RShift):
                _check_shift(what, node, other)
            return _BINARY[type(op)](one, other)
        case ast.UnaryOp(op=op, operand=operand):
            return _UNARY[type(op)](of(operand))
        case ast.BoolOp(op=op, values=values):
            join = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return _flag(reduce(join, _aligned(*(_true(of(value)) for value in values))))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _flag(_COMPARISONS[type(op)](*_aligned(of(left), of(right))))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return np.where(*_aligned(_true(of(test)), of(body), of(orelse)))
        case ast.Call(func=ast.Name(id=name), args=args):
            return _FUNCTIONS[name][1](*_aligned(*map(of, args)))
    raise AssertionError(ast.dump(node))


def _aligned(*values: Value) -> tuple[Value, ...]:
    """Return values as arrays that go together: each number of a case with its list."""
    arrays = [np.asarray(value) for value in values]
    lists = any(array.ndim == 2 for array in arrays)
    return tuple(array[:, None] if lists and array.ndim == 1 else array for array in arrays)


def _check_shift(what: str, node: ast.expr, by: Value) -> None:
    if np.any(np.asarray(by) < 0) or np.any(np.asarray(by) > SHIFT_LIMIT):
        raise InputError(
            f"{what}: {ast.unparse(node)!r}: a shift by {int(np.asarray(by).min())} to "
            f"{int(np.asarray(by).max())}; shifts are 0 to {SHIFT_LIMIT}: use max(..., 0)"
        )


def _true(value: Value) -> Value:
    return np.asarray(value) != 0


def _flag(value: Value) -> Value:
    """Return truth values as Python's integers 0 and 1."""
    return np.where(value, np.array(1, object), np.array(0, object))
