"""The one graph that every front end makes, and from which the lowering to int8 begins.

Values have names and the shapes of the source, images as NCHW. A layer computes one value from
others; `eightfold.importer.layers` has the kinds, and ``quantize`` says which codes its value has.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.golden.quantization import Quantization


class Refusal(Exception):  # noqa: N818 (says what it is)
    """A layer has no exact int8 form; the message says why."""


class Fault(NamedTuple):
    """A layer that has no exact int8 form, as the source calls it, and why."""

    layer: str
    operator: str
    reason: str

    def __str__(self) -> str:
        return f"{self.layer} ({self.operator}): {self.reason}"


class Refused(InputError):  # noqa: N818 (says what happened)
    """Layers of a network have no exact int8 form: ``faults`` has all of them.

    ``advice`` is a line on what to do about some of them, or empty.
    """

    def __init__(self, source: str, faults: Sequence[Fault], advice: str = "") -> None:
        lines = [*map(str, faults), *filter(None, [advice])]
        super().__init__(f"{source}: {'; '.join(lines)}")
        self.faults = faults
        self.advice = advice


@dataclass(frozen=True, eq=False)
class Constant:
    """Numbers of the source: ``codes * scale``, or without a scale ``codes`` themselves.

    ``scale`` has the shape of ``codes``, so that whatever moves codes moves their scales.
    """

    codes: NDArray[Any]
    scale: NDArray[np.float32] | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The real numbers, float64 where there is a scale."""
        return self.codes if self.scale is None else self.codes * self.scale.astype(np.float64)

    def moved(self, move: Callable[[NDArray[Any]], NDArray[Any]]) -> "Constant":
        """Return it with ``move``, a reshape or a transposition, done to codes and scales."""
        return Constant(move(self.codes), None if self.scale is None else move(self.scale))


@dataclass(eq=False)
class Layer:
    """One layer. ``bias`` and ``activation`` are those of following layers that it takes over.

    ``refusal`` says why there is no int8 form of it, as far as the front end knows.
    """

    name: str
    kind: str
    inputs: list[str]
    output: str
    attributes: dict[str, Any] = field(default_factory=dict)
    bias: NDArray[np.float64] | None = None
    activation: tuple[float, float] | None = None
    refusal: str | None = None


Evaluate = Callable[[Mapping[str, NDArray[Any]], Sequence[str]], dict[str, NDArray[Any]]]
"""Returns values by name from the arrays of others, such as the inputs, from which all paths to
them come: the source's own runtime, in float."""


@dataclass(eq=False)
class Network:
    """A network of the source. ``runtime`` names what `evaluate` asks."""

    name: str
    runtime: str
    inputs: list[str]
    outputs: list[str]
    shapes: dict[str, tuple[int, ...]]
    constants: dict[str, Constant]
    layers: list[Layer]
    evaluate: Evaluate

    def readers(self, value: str) -> list[Layer]:
        """Return the layers that read a value."""
        return [layer for layer in self.layers if value in layer.inputs]

    def computed(self, layer: Layer) -> list[str]:
        """Return the inputs of a layer that are no constants."""
        return [name for name in layer.inputs if name not in self.constants]


@dataclass(frozen=True, eq=False)
class Codes:
    """The int8 codes of a value, and where their range comes from.

    That is: ``stated`` by the source; of a ``neighbour``, through layers that move or choose;
    ``merged`` of what is joined; ``fixed`` by the spec; of ``samples``, or ``bounds`` of what it
    is computed from.
    """

    quantization: Quantization
    origin: str

    @property
    def scale(self) -> float:
        """Of one code."""
        return float(self.quantization.scale[0])

    @property
    def zero_point(self) -> int:
        """The code of real 0."""
        return int(self.quantization.zero_point[0])

    @property
    def ends(self) -> tuple[float, float]:
        """The real values of -128 and 127."""
        return self.scale * (-128 - self.zero_point), self.scale * (127 - self.zero_point)

    def position(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Return ``values / scale + zero_point`` in float64: a code where it is an integer."""
        return np.asarray(values, np.float64) / self.scale + self.zero_point

    def of(self, values: NDArray[Any]) -> NDArray[np.int8]:
        """Return the codes of real values: rounded ties to even, and saturated."""
        return np.clip(np.rint(self.position(values)), -128, 127).astype(np.int8)

    def real(self, codes: NDArray[np.int8]) -> NDArray[np.float64]:
        """Return the real values of codes."""
        return (codes.astype(np.float64) - self.zero_point) * self.scale

    def same(self, other: "Codes") -> bool:
        """Return whether codes stand for the same real values."""
        return self.scale == other.scale and self.zero_point == other.zero_point


def codes_between(low: float, high: float, origin: str) -> Codes:
    """Return the codes of a range, widened to contain 0: ``scale = (high - low) / 255``."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = np.float32((high - low) / 255) or np.float32(1)
    zero_point = int(np.clip(np.rint(-128 - low / float(scale)), -128, 127))
    return Codes(Quantization(np.array([scale]), np.array([zero_point])), origin)


def refusals(layers: Sequence[Layer]) -> list[Fault]:
    """Return the layers that have no int8 form."""
    return [
        Fault(layer.name, layer.attributes.get("operator", layer.kind), layer.refusal)
        for layer in layers
        if layer.refusal
    ]
