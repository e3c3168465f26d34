"""Some of a model's operators as a model of its own: what is left when a failure is made small."""

from collections.abc import Collection, Iterable, Iterator

import numpy as np

from eightfold.model.schema import OPERATOR_CODES
from eightfold.model.writer import Table, pack, unpack


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
    fields = _subgraph(table).fields
    every: list[Table] = fields.get("Operators") or []
    codes = [_code(each) for each in table.fields["OperatorCodes"]]
    on_variables = [codes[operator.fields["OpcodeIndex"]] in _ON_VARIABLES for operator in every]
    stateful = any(on_variables[number] for number in operators)
    kept = [
        operator
        for number, operator in enumerate(every)
        if number in operators or (stateful and on_variables[number])
    ]
    read, made = _tensors(kept, "Inputs"), _tensors(kept, "Outputs")
    inputs, outputs = _indices(fields, "Inputs"), _indices(fields, "Outputs")
    elsewhere = set(_tensors(every, "Inputs")) - set(read) - set(outputs)
    new_inputs = [index for index in inputs if index not in elsewhere]
    new_inputs += [
        index for index in read if index not in {*made, *inputs} and not _has_data(table, index)
    ]
    others = set(_tensors(every, "Outputs")) - set(made)
    new_outputs = [index for index in outputs if index not in others]
    new_outputs += [index for index in made if index not in {*read, *outputs}]
    fields["Operators"] = kept
    fields["Inputs"] = np.array(new_inputs, np.int32)
    fields["Outputs"] = np.array(new_outputs, np.int32)
    used = {*read, *made, *new_inputs, *new_outputs}
    for index, tensor in enumerate(fields.get("Tensors") or ()):
        if index not in used:
            tensor.fields["Buffer"] = 0
    _drop_data(table)
    _drop_codes(table)
    return pack(table)


_ON_VARIABLES = {
    OPERATOR_CODES[name] for name in ("CALL_ONCE", "VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE")
}


def _code(table: Table) -> int:
    return max(table.fields["DeprecatedBuiltinCode"], table.fields["BuiltinCode"])


def _subgraph(table: Table) -> Table:
    return table.fields["Subgraphs"][0]


def _indices(fields: dict, name: str) -> list[int]:
    held = fields.get(name)
    return [] if held is None else held.tolist()


def _tensors(operators: Iterable[Table], name: str) -> list[int]:
    """Return the tensors of operators' inputs or outputs, each once, without operands left out."""
    found: Iterator[int] = (
        index for operator in operators for index in _indices(operator.fields, name) if index >= 0
    )
    return list(dict.fromkeys(found))


def _has_data(table: Table, index: int) -> bool:
    tensors = _subgraph(table).fields.get("Tensors") or []
    buffers = table.fields.get("Buffers") or []
    buffer = tensors[index].fields.get("Buffer", 0) if index < len(tensors) else 0
    return buffer < len(buffers) and bool(buffers[buffer].fields.get("Data"))


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
