"""Import: quantized networks of other tools as int8 networks in the terms of the TFLite spec.

A front end for each kind of file makes a `network.Network` of it, `ranges` gives each value its
codes, `lower` writes the ``.tflite`` file. docs/fakequantize.md goes the whole way.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.importer import onnx_qdq, openvino_ir
from eightfold.importer.compare import FORM, Comparison, compare, drawn
from eightfold.importer.lower import Lowering
from eightfold.importer.network import Fault, Network, Refused, keep, may_keep, refusals
from eightfold.importer.ranges import absorb, assign, relabel

__all__ = ["FORM", "FRONT_ENDS", "Imported", "Refused", "import_model"]

FRONT_ENDS: Mapping[str, Callable[[Path], Network]] = {
    ".xml": openvino_ir.read,
    ".onnx": onnx_qdq.read,
}
"""Who reads a file, by the end of its name."""


@dataclass(frozen=True, eq=False)
class Imported:
    """A network as an int8 file, and what has become of its values."""

    source: Path
    model: bytes
    network: Network
    lowering: Lowering
    samples: Mapping[str, NDArray] | None

    @property
    def kept(self) -> list[Fault]:
        """The layers that `import_model` has kept as tables, and why they have no int8 form."""
        tables = [each for each in self.network.layers if each.kind == "table"]
        return [
            Fault(each.name, each.attributes["operator"], each.attributes["reason"])
            for each in tables
        ]

    @property
    def notes(self) -> list[str]:
        """A line about the layers that are `kept`, if there are any."""
        kept = ", ".join(each.layer for each in self.kept)
        return [f"kept by --fallback golden, as tables of codes: {kept}"] if kept else []

    def compared(self, count: int = 8) -> Comparison:
        """Return how every tensor compares with the source's runtime over the samples.

        Without samples over ``count`` drawn ones, uniform over the ranges of the inputs.
        """
        samples = self.samples or drawn(self.network, self.lowering.ranges.codes, count)
        return compare(self.model, self.lowering, samples)


def import_model(
    source: Path, samples: Mapping[str, NDArray] | None = None, *, fallback: bool = False
) -> Imported:
    """Return a quantized network as a ``.tflite`` file that keeps to the spec.

    Raises `Refused` if layers have no exact int8 form; all of them are listed. Raises `InputError`
    if the file is none of these, or cannot be read.

    ``source``: a file whose name ends as one of `FRONT_ENDS`.
    ``samples``: arrays by input, with a further first axis of samples: values that the source does
        not quantize get the range that they have over these. Without samples they get the least and
        the greatest value that they can have.
    ``fallback``: whether layers of `network.FUNCTIONS` that have no exact int8 form are kept: a
        table has for each code the nearest one of what the source's runtime computes.
    """
    front_end = FRONT_ENDS.get(source.suffix)
    if front_end is None:
        raise InputError(f"{source}: import takes {', '.join(FRONT_ENDS)} files")
    if not source.is_file():
        raise InputError(f"{source}: no such file")
    network = front_end(source)
    if samples is not None:
        shapes = {name: network.shapes[name] for name in network.inputs}
        if any(name not in samples or samples[name].shape[1:] != shapes[name] for name in shapes):
            raise InputError(f"{source}: samples need arrays (n, *shape) of these: {shapes}")
        samples = {name: samples[name].astype(np.float32) for name in shapes}
    absorb(network)
    relabel(network)
    if fallback:
        keep(network)
    lowering = Lowering(network, assign(network, samples))
    model = lowering.lower()
    if fallback and refusals(network.layers):
        keep(network)
        lowering = Lowering(network, lowering.ranges)
        model = lowering.lower()
    if faults := refusals(network.layers):
        tables = ", ".join(each.name for each in network.layers if may_keep(network, each))
        advice = f"--fallback golden keeps as tables of codes: {tables}" if tables else ""
        raise Refused(str(source), faults, "" if fallback else advice)
    return Imported(source, model, network, lowering, samples)
