"""What an import has changed: each int8 tensor beside the value of the source's own runtime.

The runtime computes in float what the source says, quantization simulated. Each operator is also
run alone, on the codes that the runtime's values have: what then differs is its own doing, and each
such element has a cause whose size is derived, see `_causes`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eightfold.importer.lower import Lowering, Step, bias_codes, weights_of
from eightfold.importer.network import Codes, Network
from eightfold.importer.ranges import MOVES
from eightfold.model import Graph
from eightfold.operators import load_int8, run_graph, run_operator

Causes = Mapping[str, float]
"""By how many codes a cause can move a value before it is rounded, the least first."""

TIE = 255 * 2.0**-21
"""How near to a tie, in codes, float32 arithmetic of a quantization can not tell its side."""

FORM = "scale float32, second half_even"
"""How the runtimes requantize, in the words of `conform`."""

UNEXPLAINED = "unexplained"


@dataclass(kw_only=True)
class TensorReport:
    """One int8 tensor beside the source's value, over all samples."""

    name: str
    operator: str
    shape: tuple[int, ...]
    range: str
    bound: int
    """Codes by which it can differ: each rounding one, and what operands and causes bring on."""

    own_bound: int
    """The same, if all operands are as the runtime has them."""

    elements: int = 0
    different: int = 0
    largest: int = 0
    own_different: int = 0
    own_largest: int = 0
    causes: Counter = field(default_factory=Counter)
    """Why elements differ although their operands do not: how many, by cause."""

    @property
    def explained(self) -> bool:
        """Whether every difference is within its bound and has a cause."""
        within = self.largest <= self.bound and self.own_largest <= self.own_bound
        return within and not self.causes[UNEXPLAINED]

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "causes": dict(self.causes), "explained": self.explained}


@dataclass(kw_only=True)
class Comparison:
    """All tensors, and for outputs with classes how often both name the same one."""

    runtime: str
    samples: int
    tensors: list[TensorReport]
    classes: dict[str, int]

    @property
    def explained(self) -> bool:
        """Whether every tensor is."""
        return all(each.explained for each in self.tensors)

    def verdict(self) -> str:
        """Return the result in a line."""
        wrong = [each.name for each in self.tensors if not each.explained]
        if wrong:
            return f"not explained: {', '.join(wrong)}"
        equal = sum(not each.largest for each in self.tensors)
        worst = max((each.largest for each in self.tensors), default=0)
        return (
            f"{equal} of {len(self.tensors)} tensors equal {self.runtime} over {self.samples} "
            f"samples, others by up to {worst} codes, all within their bounds"
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        tensors = [each.as_json() for each in self.tensors]
        return {**vars(self), "form": FORM, "tensors": tensors, "explained": self.explained}


def drawn(network: Network, codes: Mapping[str, Codes], count: int) -> dict[str, NDArray]:
    """Return samples by input, uniform over the range of its codes."""
    rng = np.random.default_rng(0)
    return {
        name: rng.uniform(*codes[name].ends, (count, *network.shapes[name])).astype(np.float32)
        for name in network.inputs
    }


def compare(model: bytes, lowering: Lowering, samples: Mapping[str, NDArray]) -> Comparison:
    """Run samples, arrays by input with a further first axis, and compare every tensor."""
    graph, network = load_int8(model), lowering.network
    comparer = _Comparer(graph, lowering)
    count = len(next(iter(samples.values())))
    found = [comparer.run({n: array[k] for n, array in samples.items()}) for k in range(count)]
    reports = comparer.reports([residuals for _, residuals in found])
    for differences, _ in found:
        comparer.count(reports, differences)
    outputs = [name for name in network.outputs if len(network.shapes[name]) == 2]
    classes = {
        name: sum(classified[name] for classified in comparer.classified)
        for name in outputs
        if network.shapes[name][1] > 1
    }
    return Comparison(
        runtime=network.runtime, samples=count, tensors=[*reports.values()], classes=classes
    )


@dataclass(frozen=True, eq=False)
class _Difference:
    """Of one sample: of codes in all, of the operator alone, and how far the latter has to go."""

    whole: NDArray[np.int64]
    own: NDArray[np.int64]
    need: NDArray[np.float64]


class _Comparer:
    """Runs samples through both; tensors go by the names of `eightfold.importer.ranges`."""

    def __init__(self, graph: Graph, lowering: Lowering) -> None:
        self.graph = graph
        self.low = lowering
        self.ranges = lowering.ranges
        self.codes = lowering.ranges.codes
        self.classified: list[dict[str, bool]] = []
        read = {name for layer in lowering.network.layers for name in layer.inputs}
        names = {*self.ranges.real.values(), *self.ranges.before.values(), *read}
        self.names = sorted(name for name in names if name in lowering.network.shapes)
        self.names = [n for n in self.names if n not in lowering.network.constants]
        self.tensors = [*lowering.network.inputs, *(step.tensor for step in lowering.steps)]

    def run(
        self, inputs: Mapping[str, NDArray]
    ) -> tuple[dict[str, _Difference], dict[tuple[str, int], float]]:
        """Return the differences of each tensor, and by how much what steps read is no code."""
        values = self.low.network.evaluate(inputs, self.names)
        given = {
            self.low.places[name].tensor: self.low.places[name].stored(self.codes[name].of(array))
            for name, array in inputs.items()
        }
        got = run_graph(self.graph, given)
        right = {
            tensor: self._stored(tensor, self.codes[tensor].of(values[self.ranges.real[tensor]]))
            for tensor in self.tensors
        }
        found, residuals = {}, {}
        for name in self.low.network.inputs:
            found[name] = self._difference(name, got, given[self._at(name)], right, values)
        for step in self.low.steps:
            given = {self._at(name): right[name] for name in step.operands}
            for operator in self.graph.operators[step.first : step.last]:
                results = run_operator(self.graph, operator, given)
                given.update(zip(operator.outputs, results, strict=True))
            alone = given[self._at(step.tensor)]
            found[step.tensor] = self._difference(step.tensor, got, alone, right, values)
            for number, name in enumerate(self._read(step)):
                tensor = step.operands[number]
                real = self.codes[tensor].real(right[tensor])
                error = np.abs(self._stored(tensor, values[name]) - real)
                residuals[step.tensor, number] = float(error.max())
        self.classified.append(
            {
                name: bool(
                    np.array_equal(
                        got[self._at(tensor)].argmax(-1),
                        values[self.ranges.real[tensor]].argmax(-1),
                    )
                )
                for name in self.low.network.outputs
                for tensor in [self.ranges.tensor_of[name]]
            }
        )
        return found, residuals

    def _at(self, tensor: str) -> int:
        return self.low.places[tensor].tensor

    def _stored(self, tensor: str, values: NDArray[Any]) -> NDArray[Any]:
        return self.low.places[tensor].stored(values)

    def _read(self, step: Step) -> list[str]:
        """Return the values of the source that a step reads, for each of its operands."""
        names = self.low.network.computed(step.layer)
        return [
            name if name in self.low.network.shapes else self.ranges.real[name] for name in names
        ]

    def _difference(
        self,
        tensor: str,
        got: Mapping[int, NDArray],
        alone: NDArray[np.int8],
        right: Mapping[str, NDArray[np.int8]],
        values: Mapping[str, NDArray],
    ) -> _Difference:
        wanted = right[tensor].astype(np.int64)
        position = self.codes[tensor].position(
            self._stored(tensor, values[self.ranges.before[tensor]])
        )
        low = np.where(alone == -128, -np.inf, alone - 0.5)
        high = np.where(alone == 127, np.inf, alone + 0.5)
        need = np.maximum(np.maximum(low - position, position - high), 0)
        return _Difference(got[self._at(tensor)] - wanted, alone - wanted, need)

    def reports(
        self, residuals: Sequence[Mapping[tuple[str, int], float]]
    ) -> dict[str, TensorReport]:
        """Return a report for each tensor, still without differences, its bounds derived."""
        self.causes: dict[str, Causes] = {}
        found = {}
        for name in self.low.network.inputs:
            quantized = int(self.ranges.real[name] != self.ranges.before[name])
            self.causes[name] = {"a tie": TIE}
            found[name] = self._report(name, "input", quantized, quantized)
        for step in self.low.steps:
            gains, causes = _causes(self.graph, self.low, step)
            read = [
                max(each[step.tensor, number] for each in residuals) / self.codes[operand].scale
                for number, operand in enumerate(step.operands)
            ]
            moves = step.layer.kind in MOVES and step.layer.kind != "avg_pool"
            if not moves:
                word = (
                    "a merged range"
                    if step.layer.kind == "requantize"
                    else "an operand between codes"
                )
                causes = {**causes, word: float(np.dot(gains, read))}
            self.causes[step.tensor] = dict(sorted(causes.items(), key=lambda each: each[1]))
            rounded = not moves or self.ranges.real[step.tensor] != self.ranges.before[step.tensor]
            own = int(sum(causes.values())) + int(rounded)
            bounds = [found[operand].bound for operand in step.operands]
            passed = max(bounds) if moves else float(np.dot(gains, bounds))
            bound = int(passed + sum(causes.values())) + int(rounded)
            found[step.tensor] = self._report(step.tensor, step.operator, min(bound, 255), own)
        return found

    def _report(self, tensor: str, operator: str, bound: int, own: int) -> TensorReport:
        return TensorReport(
            name=tensor,
            operator=operator,
            shape=self.low.places[tensor].shape,
            range=self.codes[tensor].origin,
            bound=bound,
            own_bound=own,
        )

    def count(
        self, reports: Mapping[str, TensorReport], differences: Mapping[str, _Difference]
    ) -> None:
        """Add the differences of a sample to the reports."""
        for tensor, found in differences.items():
            report = reports[tensor]
            report.elements += found.whole.size
            report.different += int(np.count_nonzero(found.whole))
            report.largest = max(report.largest, int(np.abs(found.whole).max()))
            report.own_different += int(np.count_nonzero(found.own))
            report.own_largest = max(report.own_largest, int(np.abs(found.own).max()))
            names = [*self.causes[tensor], UNEXPLAINED]
            reach = np.cumsum([*self.causes[tensor].values()])
            causes = np.searchsorted(reach, found.need[found.own != 0])
            report.causes.update(names[number] for number in causes)


def _causes(graph: Graph, low: Lowering, step: Step) -> tuple[list[float], dict[str, float]]:
    """Return what one code of each operand is worth in the result, and the sizes of causes.

    A tie is anything within `TIE` of one: sides differ by rounding, half away from zero or to even.
    A sum of n products in float32 is off by up to (n + 2) 2^-24 of their magnitudes. A bias in
    int32 is off by up to half of ``s_in * s_w``. The first of the requantizer's two roundings moves
    a result by up to 1/4. A kernel of its own is held against the exact function for all codes.
    """
    layer, kind = step.layer, step.layer.kind
    result = low.ranges.codes[step.tensor]
    operands = [low.ranges.codes[name] for name in step.operands]
    gains = [codes.scale / result.scale for codes in operands]
    sizes = {"a tie": TIE, "float accumulation": 0.0, "an int32 bias": 0.0, "two roundings": 0.25}
    if kind in ("conv", "matmul"):
        weights, scales = weights_of(low.network, layer, 0 if kind == "conv" else -1)
        by_channel = np.abs(np.moveaxis(weights, 0 if kind == "conv" else -1, 0).astype(np.int64))
        worth = by_channel.reshape(len(scales), -1).sum(1) * scales.astype(np.float64)
        taps = weights.size // len(scales)
        bias = np.zeros(len(scales)) if layer.bias is None else layer.bias
        magnitudes = (worth * max(np.abs(operands[0].ends)) + np.abs(bias)).max()
        real = np.float32(operands[0].scale) * scales
        rounded = bias_codes(bias, real) * real.astype(np.float64)
        sizes["float accumulation"] = (taps + 2) * 2.0**-24 * magnitudes / result.scale
        sizes["an int32 bias"] = float(np.abs(rounded - bias).max()) / result.scale
        gains = [float(worth.max()) * gains[0]]
    elif kind == "mul":
        magnitudes = [
            np.abs(low.network.constants[name].values).max()
            if name in low.network.constants
            else max(np.abs(low.codes(name).ends))
            for name in layer.inputs
        ]
        others = [
            magnitudes[1 - n]
            for n, name in enumerate(layer.inputs)
            if name not in low.network.constants
        ]
        gains = [gain * float(other) for gain, other in zip(gains, others, strict=True)]
    elif kind in ("add", "sub"):
        sizes["two roundings"] += 2.0**-18 * max(gains)
    elif kind in ("mean", "avg_pool"):
        count = np.prod(low.places[step.operands[0]].shape) / np.prod(low.places[step.tensor].shape)
        sizes["float accumulation"] = float(count + 2) * 2.0**-24 * 256 * gains[0]
    elif kind in ("sigmoid", "tanh"):
        sizes["the kernel"] = _deviation(graph, step, operands[0], result)
        gains = [gains[0] * (0.25 if kind == "sigmoid" else 1.0)]
    elif kind == "softmax":
        sizes["the kernel"] = 0.25
        gains = [gains[0] * 0.5]
    elif kind in MOVES:
        sizes = {"a tie": TIE}
    return gains, {name: size for name, size in sizes.items() if size}


def _deviation(graph: Graph, step: Step, operand: Codes, result: Codes) -> float:
    """Return how far a function of one code is from the exact one, over all codes, unrounded."""
    x = np.arange(-128, 128).astype(np.int8)
    operator = graph.operators[step.last - 1]
    (got,) = run_operator(graph, operator, {operator.inputs[0]: x})
    real = operand.real(x)
    exact = np.tanh(real) if step.layer.kind == "tanh" else 1 / (1 + np.exp(-real))
    position = np.clip(result.position(exact), -128, 127)
    return max(float(np.abs(got - position).max()) - 0.5, 0.0)
