"""Some of a model's operators as a model of its own: what is left when a failure is made small."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from eightfold.model.schema import OPERATOR_CODES
from eightfold.model.writer import Table, constant_data, operator_code, pack, unpack


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
