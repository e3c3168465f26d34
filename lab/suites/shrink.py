"""What a failure needs: the fewest of the things that it is made of, found by leaving others out.

Delta debugging, Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", 2002.
Of operators that are left, `part_of` makes a model of its own.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from eightfold.model.schema import OPERATOR_CODES
from eightfold.model.writer import Table, constant_data, operator_code, pack, unpack

Item = TypeVar("Item")


class Budget:
    """What shrinking may take; all failures of a unit share one, so that the unit ends in time.

    ``trials``: how often it may be asked whether fewer things still fail. ``seconds``: of
    wall-clock time, after which no more trial begins.
    """

    def __init__(self, trials: int = 300, seconds: float = 120.0) -> None:
        self._trials = trials
        self._deadline = time.monotonic() + seconds

    def take(self) -> bool:
        """Take one trial; return whether there was one left, and time for it."""
        self._trials -= 1
        return self._trials >= 0 and time.monotonic() < self._deadline


def shrink(
    items: Sequence[Item], still_fails: Callable[[list[Item]], bool], budget: Budget
) -> list[Item]:
    """Return as few of the items as still fail, in their order.

    - ``items``: what together fails: mutations, operators, commands. None of them is changed, and
      none need be hashable.
    - ``still_fails``: whether fewer of them, in the same order, fail in the same way. Its answer
      for the same items must be the same each time, and False for what makes no sense without the
      others. It may be asked for no items at all, never for all of them; its exceptions pass.
    - ``budget``: what it may take. A trial takes from it, one that was asked before does not.

    Returns the fewest of them for which ``still_fails`` was true, or all. If the budget was
    enough, what is left does not fail without any one of its items, and is the same for the same
    arguments; if it was not, more is left.
    """
    kept = list(range(len(items)))
    asked: dict[tuple[int, ...], bool] = {}

    def fails(places: list[int]) -> bool:
        key = tuple(places)
        if key not in asked:
            asked[key] = budget.take() and still_fails([items[place] for place in places])
        return asked[key]

    if kept and fails([]):
        return []
    parts = 2
    while len(kept) > 1:
        bounds = [number * len(kept) // parts for number in range(parts + 1)]
        for start, stop in pairwise(bounds):
            if fails(fewer := kept[:start] + kept[stop:]):
                kept, parts = fewer, max(parts - 1, 2)
                break
        else:
            if parts == len(kept):
                break
            parts = min(2 * parts, len(kept))
    return [items[place] for place in kept]


def part_of(model: bytes, operators: Collection[int]) -> bytes:
    """Return a model of some operators of another.

    Tensors keep their numbers, so that a message about the whole is about the part as well. Those
    that no operator uses any more stay without their data.

    ``model``: a ``.tflite`` file that is sound as a flatbuffer; what it says may have no meaning.
    ``operators``: numbers of the operators to keep, which stay in their order. If one is on
        variables, so do all that are: what it reads is a matter of those before it.
    Result: the part. What it reads and does not make itself are inputs, behind those of the whole
        that it still has: all but the ones that only other operators read. Its outputs are those of
        the whole that it has, and results that nothing of it reads.
    """
    table = unpack(model)
    subgraph = table.fields["Subgraphs"][0]
    fields = subgraph.fields
    every: list[Table] = fields.get("Operators") or []
    on_variables = [operator_code(table, operator) in _ON_VARIABLES for operator in every]
    stateful = any(on_variables[number] for number in operators)
    kept = [
        operator
        for number, operator in enumerate(every)
        if number in operators or (stateful and on_variables[number])
    ]
    read, made = _tensors(kept, "Inputs"), _tensors(kept, "Outputs")
    inputs, outputs = (subgraph.vector(name).tolist() for name in ("Inputs", "Outputs"))
    tensors: list[Table] = fields.get("Tensors") or []
    constants = {n for n, tensor in enumerate(tensors) if constant_data(table, tensor)}
    elsewhere = set(_tensors(every, "Inputs")) - set(read) - set(outputs)
    new_inputs = [index for index in inputs if index not in elsewhere]
    new_inputs += [index for index in read if index not in {*made, *inputs, *constants}]
    others = set(_tensors(every, "Outputs")) - set(made)
    new_outputs = [index for index in outputs if index not in others]
    new_outputs += [index for index in made if index not in {*read, *outputs}]
    fields["Operators"] = kept
    fields["Inputs"] = np.array(new_inputs, np.int32)
    fields["Outputs"] = np.array(new_outputs, np.int32)
    used = {*read, *made, *new_inputs, *new_outputs}
    for index, tensor in enumerate(tensors):
        if index not in used:
            tensor.fields["Buffer"] = 0
    _drop_data(table)
    _drop_codes(table)
    return pack(table)


_ON_VARIABLES = {
    OPERATOR_CODES[name] for name in ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
}


def _tensors(operators: Iterable[Table], name: str) -> list[int]:
    """Return the tensors of operators' inputs or outputs, each once, without operands left out."""
    found: Iterator[int] = (
        index for operator in operators for index in operator.vector(name).tolist() if index >= 0
    )
    return list(dict.fromkeys(found))


def _drop_data(table: Table) -> None:
    """Empty the buffers that nothing refers to: their numbers stay."""
    tensors = [
        tensor
        for subgraph in table.fields["Subgraphs"]
        for tensor in subgraph.fields.get("Tensors") or ()
    ]
    metadata = table.fields.get("Metadata") or ()
    used = {each.fields.get("Buffer", 0) for each in (*tensors, *metadata)}
    for number, buffer in enumerate(table.fields.get("Buffers") or ()):
        if number not in used:
            buffer.fields["Data"] = None


def _drop_codes(table: Table) -> None:
    """Let operator codes that no operator has be one of the others: LiteRT refuses some unused."""
    codes = table.fields.get("OperatorCodes") or []
    operators = [op for part in table.fields["Subgraphs"] for op in part.fields["Operators"] or ()]
    used = {operator.fields.get("OpcodeIndex", 0) for operator in operators}
    for number in set(range(len(codes))) - used if used else ():
        codes[number] = codes[min(used)]
