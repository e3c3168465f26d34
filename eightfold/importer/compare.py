"""What an import has changed: each int8 tensor beside the value of the source's own runtime.

The runtime computes in float what the source says, quantization simulated. Each operator is also
run alone, on the codes that the runtime's values have: what then differs is its own doing, and each
such element has a cause whose size is derived, see `_causes`.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eightfold.importer.lower import Lowering, Step, bias_codes, weights_of
from eightfold.importer.network import Codes, Network
from eightfold.importer.ranges import MOVES, tabled
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

    elements: int
    different: int
    largest: int
    own_different: int
    own_largest: int
    causes: Counter[str]
    """Why elements differ although their operands do not: how many, by cause."""

    @property
    def explained(self) -> bool:
        """Whether every difference is within its bound and has a cause."""
        within = self.largest <= self.bound and self.own_largest <= self.own_bound
        return within and not self.causes[UNEXPLAINED]

    def as_json(self) -> dict[str, Any]:
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
    network = lowering.network
    comparer = _Comparer(load_int8(model), lowering)
    count = len(next(iter(samples.values())))
    for number in range(count):
        comparer.run({name: array[number] for name, array in samples.items()})
    return Comparison(
        runtime=network.runtime,
        samples=count,
        tensors=comparer.reports(),
        classes=dict(comparer.classes),
    )


class _Difference(NamedTuple):
    """Of one sample: of codes in all, of the operator alone, and how far those of the latter go."""

    whole: NDArray[np.int16]
    own: NDArray[np.int16]
    need: NDArray[np.float64]


class _Comparer:
    """Runs samples through both; tensors go by the names of `eightfold.importer.ranges`."""

    def __init__(self, graph: Graph, lowering: Lowering) -> None:
        self.graph = graph
        self.low = lowering
        self.network = lowering.network
        self.ranges = lowering.ranges
        self.codes = lowering.ranges.codes
        self.found: dict[str, list[_Difference]] = defaultdict(list)
        self.residuals: dict[str, list[list[float]]] = defaultdict(list)
        self.classes: Counter[str] = Counter()
        read = {name for layer in self.network.layers for name in layer.inputs}
        names = {*self.ranges.real.values(), *self.ranges.before.values(), *read}
        self.names = sorted(names & {*self.network.shapes} - {*self.network.constants})

    def run(self, inputs: Mapping[str, NDArray]) -> None:
        """Find the differences of each tensor, and by how much what steps read is no code."""
        values = self.network.evaluate(inputs, self.names)
        given = {
            self._at(name): self._stored(name, self.codes[name].of(array))
            for name, array in inputs.items()
        }
        got = run_graph(self.graph, given)
        right = {
            tensor: self._stored(tensor, self.codes[tensor].of(values[self.ranges.real[tensor]]))
            for tensor in (*self.network.inputs, *(step.tensor for step in self.low.steps))
        }
        alone = {name: given[self._at(name)] for name in inputs}
        for step in self.low.steps:
            given = {self._at(name): right[name] for name in step.operands}
            for operator in self.graph.operators[step.first : step.last]:
                results = run_operator(self.graph, operator, given)
                given.update(zip(operator.outputs, results, strict=True))
            alone[step.tensor] = given[self._at(step.tensor)]
            read = [name for name in step.layer.inputs if name not in self.network.constants]
            errors = [
                self._stored(tensor, values[name if name in values else self.ranges.real[name]])
                - self.codes[tensor].real(right[tensor])
                for name, tensor in zip(read, step.operands, strict=True)
            ]
            self.residuals[step.tensor].append([float(np.abs(each).max()) for each in errors])
        for tensor, codes in alone.items():
            position = self.codes[tensor].position(
                self._stored(tensor, values[self.ranges.before[tensor]])
            )
            low = np.where(codes == -128, -np.inf, codes - 0.5)
            high = np.where(codes == 127, np.inf, codes + 0.5)
            need = np.maximum(np.maximum(low - position, position - high), 0)
            wanted = right[tensor].astype(np.int64)
            whole, own = (
                each.astype(np.int16) for each in (got[self._at(tensor)] - wanted, codes - wanted)
            )
            self.found[tensor].append(_Difference(whole, own, need[own != 0]))
        for name in self.network.outputs:
            if len(self.network.shapes[name]) == 2 and self.network.shapes[name][1] > 1:
                codes = got[self._at(self.ranges.tensor_of[name])]
                self.classes[name] += bool((codes.argmax(1) == values[name].argmax(1)).all())

    def _at(self, tensor: str) -> int:
        return self.low.places[tensor].tensor

    def _stored(self, tensor: str, values: NDArray[Any]) -> NDArray[Any]:
        return self.low.places[tensor].stored(values)

    def reports(self) -> list[TensorReport]:
        bounds: dict[str, int] = {}
        found = []
        for name in self.network.inputs:
            bounds[name] = int(self.ranges.real[name] != self.ranges.before[name])
            found.append(self._report(name, "input", (bounds[name], bounds[name]), {"a tie": TIE}))
        for step in self.low.steps:
            gains, causes = _causes(self.graph, self.low, step)
            moves = step.layer.kind in MOVES and step.layer.kind != "avg_pool"
            passed = [bounds[operand] for operand in step.operands]
            if not moves:
                read = np.max(self.residuals[step.tensor], axis=0)
                read /= [self.codes[operand].scale for operand in step.operands]
                if step.layer.kind == "table":  # a step between two codes may be anywhere
                    read = np.ceil(read)
                merged = step.layer.kind == "requantize"
                word = "a merged range" if merged else "an operand between codes"
                causes = {**causes, word: float(np.dot(gains, read))}
                passed = [float(np.dot(gains, passed))]
            quantized = self.ranges.real[step.tensor] != self.ranges.before[step.tensor]
            rounded = int(not moves or quantized)
            total = sum(causes.values())
            bounds[step.tensor] = min(int(max(passed) + total) + rounded, 255)
            both = bounds[step.tensor], int(total) + rounded
            causes = dict(sorted(causes.items(), key=lambda each: each[1]))
            found.append(self._report(step.tensor, step.operator, both, causes))
        return found

    def _report(
        self, tensor: str, operator: str, bounds: tuple[int, int], causes: Causes
    ) -> TensorReport:
        whole, own, need = (
            np.concatenate([each.ravel() for each in part])
            for part in zip(*self.found[tensor], strict=True)
        )
        names = [*causes, UNEXPLAINED]
        numbers = np.searchsorted(np.cumsum([*causes.values()]), need)
        return TensorReport(
            name=tensor,
            operator=operator,
            shape=self.low.places[tensor].shape,
            range=self.codes[tensor].origin,
            bound=bounds[0],
            own_bound=bounds[1],
            elements=whole.size,
            different=int(np.count_nonzero(whole)),
            largest=int(np.abs(whole).max()),
            own_different=int(np.count_nonzero(own)),
            own_largest=int(np.abs(own).max()),
            causes=Counter(names[number] for number in numbers),
        )


def _causes(graph: Graph, low: Lowering, step: Step) -> tuple[list[float], dict[str, float]]:
    """Return what one code of each operand is worth in the result, and the sizes of causes.

    A tie is anything within `TIE` of one: sides differ by rounding, half away from zero or to even.
    A sum of n products in float32 is off by up to (n + 2) 2^-24 of their magnitudes, one more
    for a scale that is relabelled. A bias in
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
        sizes["float accumulation"] = (taps + 3) * 2.0**-24 * magnitudes / result.scale
        sizes["an int32 bias"] = float(np.abs(rounded - bias).max()) / result.scale
        gains = [float(worth.max()) * gains[0]]
    elif kind == "mul":
        constants = low.network.constants
        sizes_of = [
            np.abs(constants[name].values if name in constants else low.codes(name).ends).max()
            for name in layer.inputs[::-1]  # what each operand is multiplied by
        ]
        others = [
            float(size)
            for name, size in zip(layer.inputs, sizes_of, strict=True)
            if name not in constants
        ]
        gains = [gain * other for gain, other in zip(gains, others, strict=True)]
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
    elif kind == "table":
        entries = result.of(tabled(low.network, layer, operands[0])).astype(np.int64)
        gains, sizes = [float(np.abs(np.diff(entries)).max())], {"a tie": TIE}
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
