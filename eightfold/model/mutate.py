"""Models that are nearly right: mutations of a file that know its structure.

A flipped byte rarely gets past the reading of a file. These mutations change what the tables say,
shapes, element types, quantization, operands, options, constants, and write a sound file again, so
that what looks at a model's meaning gets to see it. A few at the end change bytes.
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flatbuffers import number_types

from eightfold.model.schema import DTYPES, OPERATOR_CODES, TENSOR_TYPES, UNIONS
from eightfold.model.writer import (
    Table,
    code_table,
    constant_data,
    field_types,
    operator_code,
    pack,
    unpack,
)

INTEGERS = (
    *(0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 100, 127, 128, 255, 256, 4095),
    *(-1, -2, -3, -4, -128, -129),
    *(1 << bits for bits in (14, 15, 16, 20, 24, 30, 31, 32, 62)),
    *((1 << bits) - 1 for bits in (15, 16, 31, 32, 63)),
    *(-(1 << bits) for bits in (15, 31, 63)),
)
"""What integers are set to; those that do not fit a field are clipped to its range."""

FLOATS = (
    *(0.0, 1.0, 0.5, 2.0, -1.0, 1e-3, 1e-8, 1e-20, 1e-38, 1e-45, 1e6, 1e20, 3e38),
    *(float("inf"), float("-inf"), float("nan")),
)
"""What scales and other float32 are set to."""

_FITTED = 1 << 16  # bytes of constant data that a mutation makes where a shape or type changes


@dataclass(frozen=True)
class Mutation:
    """One change of a file; of what, is drawn from ``choice``."""

    kind: str
    """A key of `KINDS`."""

    choice: int
    """At least 0; its digits, of a base each, are the choices. 0 takes the first everywhere."""

    def __str__(self) -> str:
        return f"{self.kind} {self.choice}"


def random_mutations(rng: np.random.Generator) -> list[Mutation]:
    """Return one to four mutations, most often one."""
    count = min(int(rng.geometric(0.6)), 4)
    return [
        Mutation(str(rng.choice(DRAWN)), int(rng.integers(1 << 63, dtype=np.int64)))
        for _ in range(count)
    ]


def mutate(model: bytes, mutations: Sequence[Mutation], donor: bytes) -> bytes:
    """Return a model with mutations in their order; those of the bytes come last.

    ``model``: a sound ``.tflite`` file.
    ``mutations``: what finds nothing to change, such as an option of a model without options, does
        nothing.
    ``donor``: another sound file, from which operators and tensors are spliced in.
    Result: the same for the same arguments.
    """
    draft = _Draft(unpack(model), donor)
    for mutation in mutations:
        if mutation.kind in _OF_TABLES:
            choices = _Choices(mutation.choice)
            draft.place = choices.below(len(draft.subgraphs))
            _OF_TABLES[mutation.kind](draft, choices)
    content = pack(draft.model)
    for mutation in mutations:
        if mutation.kind in _OF_BYTES:
            content = _OF_BYTES[mutation.kind](content, _Choices(mutation.choice))
    return content


class _Choices:
    """Successive choices, digits of one number."""

    def __init__(self, number: int) -> None:
        self._left = number

    def below(self, count: int) -> int:
        """Return a number of [0, count)."""
        self._left, digit = divmod(self._left, count)
        return digit

    def of(self, values: Sequence[Any]) -> Any:
        return values[self.below(len(values))]

    def integer(self, dtype: Any = np.int32) -> int:
        """Return a number of `INTEGERS`, clipped to the range of a type."""
        limits = np.iinfo(dtype)
        return min(max(self.of(INTEGERS), int(limits.min)), int(limits.max))

    def number(self, dtype: np.dtype) -> float | int | bool:
        if dtype.kind == "b":
            return bool(self.below(2))
        return self.of(FLOATS) if dtype.kind == "f" else self.integer(dtype)


class _Draft:
    """A model as it is changed, and the one that splices come from; ``place``: which subgraph."""

    def __init__(self, model: Table, donor: bytes) -> None:
        self.model = model
        self.place = 0
        self._donor = donor

    @cached_property
    def donor(self) -> Table:
        return unpack(self._donor)

    @property
    def subgraphs(self) -> list[Table]:
        return self.model.fields["Subgraphs"]

    @property
    def subgraph(self) -> Table:
        return self.subgraphs[self.place]

    @property
    def tensors(self) -> list[Table]:
        return self.subgraph.fields["Tensors"]

    @property
    def operators(self) -> list[Table]:
        return self.subgraph.fields["Operators"]

    def data(self, tensor: Table) -> bytes:
        return constant_data(self.model, tensor)

    def constants(self) -> list[Table]:
        return [tensor for tensor in self.tensors if self.data(tensor)]

    def set_data(self, tensor: Table, data: bytes) -> None:
        """Give a tensor a buffer of its own."""
        self.model.fields["Buffers"].append(Table("Buffer", Data=data))
        tensor.fields["Buffer"] = len(self.model.fields["Buffers"]) - 1

    def adopt(self, tensor: Table, place: int | None = None) -> bool:
        """Put a copy of a tensor of the donor in a place, or behind all; return if it has data."""
        data, adopted = constant_data(self.donor, tensor), deepcopy(tensor)
        place = len(self.tensors) if place is None else place
        self.tensors[place : place + 1] = [adopted]
        self.own_data(adopted, data)
        return bool(data)

    def own_data(self, tensor: Table, data: bytes) -> None:
        """Give a tensor data in place of the buffer that it refers to, or none."""
        tensor.fields["Buffer"] = 0
        if data:
            self.set_data(tensor, data)

    def fit_data(self, tensor: Table) -> None:
        """Repeat or cut a constant's data, so that it has the size of the tensor."""
        data = self.data(tensor)
        kind = DTYPES.get(tensor.fields.get("Type", 0))
        if not data or kind is None:
            return
        shape = [int(size) for size in tensor.fields.get("Shape", ())]
        size = int(np.prod(shape, dtype=object)) * kind.itemsize
        if 0 < size <= _FITTED:
            self.set_data(tensor, np.resize(np.frombuffer(data, np.uint8), size).tobytes())


def _changed(vector: np.ndarray, choices: _Choices) -> np.ndarray:
    """Return a vector with an element set, removed, inserted, repeated or swapped, or none."""
    how = choices.below(6)
    if how == 5:
        return vector[:0]
    if vector.size == 0 or how == 0:
        place = choices.below(vector.size + 1)
        return np.insert(vector, place, choices.number(vector.dtype))
    place = choices.below(vector.size)
    changed = vector.copy()
    if how == 1:
        return np.delete(changed, place)
    if how == 2:
        return np.insert(changed, place, changed[place])
    if how == 3:
        other = choices.below(vector.size)
        changed[[place, other]] = changed[[other, place]]
    else:
        changed[place] = choices.number(vector.dtype)
    return changed


def _shape(draft: _Draft, choices: _Choices) -> None:
    """Change a tensor's shape; its constant data follows, mostly."""
    tensor = choices.of(draft.tensors)
    fitted = choices.below(4)
    shape = tensor.vector("Shape")
    if shape.size and choices.below(2) == 0:  # near to what it was
        shape = shape.copy()
        place = choices.below(shape.size)
        near = int(shape[place]) + choices.of((1, -1, 2, -2, 5))
        shape[place] = min(max(near, 0), np.iinfo(np.int32).max)
    else:
        shape = _changed(shape, choices)
    tensor.fields["Shape"] = shape
    if fitted:
        draft.fit_data(tensor)


def _type(draft: _Draft, choices: _Choices) -> None:
    """Change a tensor's element type; its constant data is converted, mostly."""
    tensor = choices.of(draft.tensors)
    before = DTYPES.get(tensor.fields.get("Type", 0))
    known = choices.below(4) > 0
    code = choices.of(sorted(DTYPES if known else TENSOR_TYPES.values()))
    tensor.fields["Type"] = code
    data = draft.data(tensor)
    if before is None or not data or not known or choices.below(4) == 0:
        return
    with np.errstate(all="ignore"):
        values = np.frombuffer(data[: len(data) // before.itemsize * before.itemsize], before)
        draft.set_data(tensor, values.astype(DTYPES[code]).tobytes())


def _quantization(draft: _Draft, choices: _Choices) -> None:
    """Change scales, zero points or dimension of a tensor, or take all from another tensor."""
    tensor = choices.of(draft.tensors)
    held = tensor.fields.get("Quantization")
    values = held or Table("QuantizationParameters", Scale=np.ones(1, np.float32))
    tensor.fields["Quantization"] = values
    scales = values.vector("Scale", np.float32)
    points = values.vector("ZeroPoint", np.int64)
    how = choices.below(7)
    if how == 0:
        values.fields["Scale"] = _changed(scales, choices)
    elif how == 1:
        values.fields["ZeroPoint"] = _changed(points, choices)
    elif how == 2:
        values.fields["QuantizedDimension"] = choices.integer()
    elif how == 3:
        other = choices.of(draft.tensors)
        tensor.fields["Quantization"] = deepcopy(other.fields.get("Quantization"))
    elif how == 4:  # per axis, as it should be
        shape = tensor.vector("Shape")
        dimension = choices.below(max(shape.size, 1))
        count = min(max(int(shape[dimension]), 0), 4096) if shape.size else 1
        values.fields |= {
            "Scale": np.resize(scales if scales.size else np.float32(1), count),
            "ZeroPoint": np.resize(points if points.size else np.int64(0), count),
            "QuantizedDimension": dimension,
        }
    elif how == 5:
        values.fields["Scale"] = (scales * choices.of((0.5, 2, 1e-3, 1e3, 1e-9))).astype(np.float32)
    else:
        tensor.fields["Quantization"] = None


def _operand(draft: _Draft, choices: _Choices) -> None:
    """Drop, add, repeat, swap or replace operands or results of an operator."""
    _indices(draft, choices.of(draft.operators), choices)


def _edge(draft: _Draft, choices: _Choices) -> None:
    """Drop, add, repeat, swap or replace inputs or outputs of the graph."""
    _indices(draft, draft.subgraph, choices)


def _indices(draft: _Draft, owner: Table, choices: _Choices) -> None:
    field = choices.of(("Inputs", "Outputs"))
    indices = owner.vector(field)
    how = choices.below(4)
    if how == 0:
        owner.fields[field] = _changed(indices, choices)
        return
    place = choices.below(max(indices.size + (how == 1), 1))
    other = choices.below(len(draft.tensors) + 1) - 1
    if how == 1:
        owner.fields[field] = np.insert(indices, place, other)
    elif how == 2:
        owner.fields[field] = np.delete(indices, slice(place, place + 1))
    else:
        indices = indices.copy()
        indices[place : place + 1] = other
        owner.fields[field] = indices


def _option(draft: _Draft, choices: _Choices) -> None:
    """Set a field of an operator's options, or leave it or all of them out."""
    operator = choices.of(draft.operators)
    union = "BuiltinOptions2" if "BuiltinOptions2" in operator.fields else "BuiltinOptions"
    options = operator.fields.get(union)
    if options is None:
        return
    types = field_types(options.name)
    how = choices.below(16)
    if how == 0 or not types:
        operator.fields |= {union: None, f"{union}Type": 0}
        return
    field = choices.of(list(types))
    if how == 1:
        options.fields[field] = None
    elif types[field] is not number_types.UOffsetTFlags:
        options.fields[field] = choices.number(number_types.to_numpy_type(types[field]))
    elif isinstance(options.fields.get(field), np.ndarray):
        options.fields[field] = _changed(options.fields[field], choices)


def _constant(draft: _Draft, choices: _Choices) -> None:
    """Set an element of a constant, mostly a small one, or all, or cut the data, or drop it."""
    constants = sorted(draft.constants(), key=lambda tensor: len(draft.data(tensor)))
    if not constants:
        return
    tensor = constants[min(choices.below(len(constants)), choices.below(len(constants)))]
    data = draft.data(tensor)
    kind = DTYPES.get(tensor.fields.get("Type", 0), np.dtype(np.int8))
    values = np.frombuffer(data[: len(data) // kind.itemsize * kind.itemsize], kind).copy()
    how = choices.below(12)
    if how == 0:
        draft.set_data(tensor, data[: choices.below(len(data))])
    elif how == 1:
        tensor.fields["Buffer"] = 0
    elif how == 2:
        draft.set_data(tensor, data + data)
    elif values.size:
        place = slice(None) if how == 3 else choices.below(values.size)
        values[place] = choices.number(kind)
        draft.set_data(tensor, values.tobytes())


def _buffer(draft: _Draft, choices: _Choices) -> None:
    """Let a tensor refer to another buffer, or to none that there is."""
    tensor = choices.of(draft.tensors)
    tensor.fields["Buffer"] = choices.below(len(draft.model.fields["Buffers"]) + 1)


def _opcode(draft: _Draft, choices: _Choices) -> None:
    """Make an operator another one, with the options it had, none, or its own left empty."""
    operator = choices.of(draft.operators)
    name = choices.of(sorted(OPERATOR_CODES, key=OPERATOR_CODES.__getitem__))
    _set_code(draft, operator, OPERATOR_CODES[name])
    if choices.below(4):
        operator.fields |= dict.fromkeys(("BuiltinOptions", "BuiltinOptions2"))
        operator.fields |= {"BuiltinOptionsType": 0, "BuiltinOptions2Type": 0}


def _set_code(draft: _Draft, operator: Table, code: int) -> None:
    draft.model.fields["OperatorCodes"].append(code_table(code))
    operator.fields["OpcodeIndex"] = len(draft.model.fields["OperatorCodes"]) - 1


def _donor_operator(draft: _Draft, choices: _Choices) -> tuple[Table, int]:
    """Return an operator of the donor, and its code."""
    operator = deepcopy(choices.of(draft.donor.fields["Subgraphs"][0].fields["Operators"]))
    return operator, operator_code(draft.donor, operator)


def _disguise(draft: _Draft, choices: _Choices) -> None:
    """Put an operator of the donor in the place of one here, on the operands that this one has."""
    operator = choices.of(draft.operators)
    other, code = _donor_operator(draft, choices)
    for field in ("BuiltinOptions", "BuiltinOptionsType", "BuiltinOptions2", "BuiltinOptions2Type"):
        operator.fields[field] = other.fields.get(field)
    _set_code(draft, operator, code)


def _splice(draft: _Draft, choices: _Choices) -> None:
    """Add an operator of the donor, with its tensors, that reads a tensor of this model."""
    operator, code = _donor_operator(draft, choices)
    _set_code(draft, operator, code)
    source = draft.donor.fields["Subgraphs"][0].fields["Tensors"]
    read = operator.vector("Inputs")
    written = operator.vector("Outputs")
    joined = choices.below(max(read.size, 1))
    places = {-1: -1}
    if read.size:
        places[int(read[joined])] = choices.below(len(draft.tensors))
    edges = {field: list(draft.subgraph.fields.get(field, ())) for field in ("Inputs", "Outputs")}
    for field, indices in (("Inputs", read), ("Outputs", written)):
        for index in indices.tolist():
            if index in places:
                continue
            places[index] = len(draft.tensors)
            if not draft.adopt(source[index]):
                edges[field].append(places[index])
    for field, indices in (("Inputs", read), ("Outputs", written)):
        operator.fields[field] = np.array([places[i] for i in indices.tolist()], np.int32)
        draft.subgraph.fields[field] = np.array(edges[field], np.int32)
    draft.operators.insert(len(draft.operators) - choices.below(2), operator)


def _computed(draft: _Draft, choices: _Choices) -> None:
    """Make a constant operand of integers an input of the graph, or the result of an operator.

    Of RESHAPE, which leaves it as it is, of a constant, maybe back to front, or an input; of SHAPE.
    """
    place = choices.below(len(draft.operators))
    operator = draft.operators[place]
    read = operator.vector("Inputs")
    positions = [n for n, i in enumerate(read.tolist()) if _is_constant_integers(draft, i)]
    if not positions:
        return
    position = choices.of(positions)
    index = int(read[position])
    how = choices.below(4)
    tensor = draft.tensors[index]
    result = deepcopy(tensor)
    result.fields["Buffer"] = 0
    if how < 2:
        tensor.fields["Buffer"] = 0
        edges = draft.subgraph.vector("Inputs")
        draft.subgraph.fields["Inputs"] = np.append(edges, np.int32(index))
    if how == 0:
        return
    if how == 2 and choices.below(2):
        width = DTYPES[tensor.fields["Type"]].itemsize
        values = np.frombuffer(draft.data(tensor), np.uint8)
        values = values[: len(values) // width * width].reshape(-1, width)
        draft.set_data(tensor, values[::-1].tobytes())
    shape = result.vector("Shape")
    name = "RESHAPE"
    options = Table("ReshapeOptions", NewShape=shape)
    source = index
    if how == 3:
        name = "SHAPE"
        options = Table("ShapeOptions", OutType=result.fields["Type"])
        inputs = draft.subgraph.vector("Inputs").tolist()
        source = choices.of([i for i in inputs if 0 <= i < len(draft.tensors)] or [index])
        rank = len(draft.tensors[source].fields.get("Shape", ()))
        result.fields["Shape"] = np.array([rank], np.int32)
    draft.tensors.append(result)
    operator.fields["Inputs"] = read.copy()
    operator.fields["Inputs"][position] = len(draft.tensors) - 1
    code = UNIONS["BuiltinOptions"][options.name]
    edges = {"Inputs": [source], "Outputs": [len(draft.tensors) - 1]}
    fields = {name: np.array(indices, np.int32) for name, indices in edges.items()}
    before = Table("Operator", **fields, BuiltinOptionsType=code, BuiltinOptions=options)
    _set_code(draft, before, OPERATOR_CODES[name])
    draft.operators.insert(place, before)


def _is_constant_integers(draft: _Draft, index: int) -> bool:
    if not 0 <= index < len(draft.tensors):
        return False
    tensor = draft.tensors[index]
    integers = DTYPES.get(tensor.fields.get("Type", 0)) in (np.int32, np.int64)
    return integers and len(draft.data(tensor)) > 0


def _subgraph(draft: _Draft, choices: _Choices) -> None:
    """Add a copy of the subgraph, the donor's, or a signature of the subgraph."""
    how = choices.below(3)
    if how == 0:
        draft.subgraphs.append(deepcopy(draft.subgraph))
    elif how == 1:
        graph = deepcopy(draft.donor.fields["Subgraphs"][0])
        for operator in graph.fields["Operators"]:
            _set_code(draft, operator, operator_code(draft.donor, operator))
        for tensor in graph.fields["Tensors"]:
            draft.own_data(tensor, constant_data(draft.donor, tensor))
        draft.subgraphs.append(graph)
    else:
        edges = {
            field: [
                Table("TensorMap", Name=f"{field} {number}", TensorIndex=int(index) % (1 << 32))
                for number, index in enumerate(draft.subgraph.fields.get(field, ()))
            ]
            for field in ("Inputs", "Outputs")
        }
        signatures = draft.model.fields.setdefault("SignatureDefs", [])
        key = f"signature {len(signatures)}"
        signatures.append(
            Table("SignatureDef", **edges, SignatureKey=key, SubgraphIndex=draft.place)
        )


def _transplant(draft: _Draft, choices: _Choices) -> None:
    """Put a tensor of the donor in the place of one here."""
    place = choices.below(len(draft.tensors))
    draft.adopt(choices.of(draft.donor.fields["Subgraphs"][0].fields["Tensors"]), place)


def _reorder(draft: _Draft, choices: _Choices) -> None:
    """Swap, repeat or remove operators."""
    how = choices.below(3)
    place = choices.below(len(draft.operators))
    if how == 0:
        other = choices.below(len(draft.operators))
        operators = draft.operators
        operators[place], operators[other] = operators[other], operators[place]
    elif how == 1:
        draft.operators.insert(place, deepcopy(draft.operators[place]))
    elif len(draft.operators) > 1:
        del draft.operators[place]


def _field(draft: _Draft, choices: _Choices) -> None:
    """Set any number of any table."""
    table = choices.of(_tables(draft.model))
    numbers = {
        field: kind
        for field, kind in field_types(table.name).items()
        if kind is not number_types.UOffsetTFlags
    }
    if numbers:
        field = choices.of(list(numbers))
        table.fields[field] = choices.number(number_types.to_numpy_type(numbers[field]))


def _tables(value: Any) -> list[Table]:
    """Return all tables that a value holds, itself among them."""
    match value:
        case Table():
            return [value, *(table for each in value.fields.values() for table in _tables(each))]
        case list():
            return [table for each in value for table in _tables(each)]
    return []


def _bytes(content: bytes, choices: _Choices) -> bytes:
    """Overwrite one to four bytes, where there are any: a truncation may come first."""
    if not content:
        return content
    width = choices.of((1, 2, 4))
    place = choices.below(len(content)) // width * width
    value = choices.integer(np.int64) if choices.below(2) else choices.below(1 << 32)
    changed = (value % (1 << 8 * width)).to_bytes(width, "little")
    return (content[:place] + changed + content[place + width :])[: len(content)]


def _truncation(content: bytes, choices: _Choices) -> bytes:
    """Cut the end off."""
    return content[: choices.below(len(content))] if content else content


_FUNCTIONS = (
    *(_shape, _type, _quantization, _operand, _option, _constant, _opcode, _disguise, _splice),
    *(_computed, _subgraph, _transplant, _edge, _buffer, _reorder, _field),
)
_OF_TABLES: dict[str, Callable[[_Draft, _Choices], None]] = {
    function.__name__.removeprefix("_"): function for function in _FUNCTIONS
}

_OF_BYTES: dict[str, Callable[[bytes, _Choices], bytes]] = {
    "bytes": _bytes,
    "truncation": _truncation,
}

KINDS = (*_OF_TABLES, *_OF_BYTES)
"""Kinds of mutations; the function of each says what it changes."""

_OFTEN = ("shape", "type", "quantization", "operand", "option", "constant", "computed")
DRAWN = (*_OFTEN, *_OFTEN, *KINDS)
"""From which a kind is drawn: those that find most are there several times."""
