"""What the lane array is fed for one operator, as arrays; the tensors' values come later."""

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from eightfold import streams
from eightfold.config import AcceleratorConfig
from eightfold.packing import pack

Fields = dict[str, np.ndarray]
"""A stream's words by field, as `pack` takes them."""


@dataclass(frozen=True, kw_only=True)
class Beats:
    """Activation beats: where each byte comes from, and what the lanes do with the vector.

    ``source``, int64 (n, width): flat index into the input tensor, or -1 for its zero point. The
    flags and ``slot``, shape (n,), are those of `streams.activation_layout`.
    """

    source: np.ndarray
    depthwise: np.ndarray
    fire: np.ndarray
    first: np.ndarray
    last: np.ndarray
    next_weights: np.ndarray
    next_parameters: np.ndarray
    slot: np.ndarray

    @classmethod
    def concatenate(cls, parts: "list[Beats]") -> "Beats":
        """Join beats in order."""
        return cls(
            **{
                field.name: np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            }
        )


@dataclass(frozen=True, kw_only=True)
class Streams:
    """What a tiling yields: weights, the channels whose parameters they need, beats, results.

    ``weights``, int8 (n, width), one lane's taps per row; ``channels``, int64 (m,), the output
    channel of every parameter word; ``*_last`` ends a weight buffer or a parameter bank;
    ``destination``, int64 (results, lanes), is a flat index into the output tensor, or -1.
    """

    weights: np.ndarray
    weights_last: np.ndarray
    channels: np.ndarray
    channels_last: np.ndarray
    beats: Beats
    destination: np.ndarray

    @classmethod
    def concatenate(cls, parts: "list[Streams]") -> "Streams":
        """Join streams in order."""
        joined = {
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(cls)
            if field.name != "beats"
        }
        return cls(**joined, beats=Beats.concatenate([part.beats for part in parts]))


def ends_of(group: np.ndarray) -> np.ndarray:
    """Return ``last`` flags for one word per lane of ``group``."""
    return np.arange(len(group)) == len(group) - 1


@dataclass(frozen=True, kw_only=True)
class LaneProgram:
    """One MAC operator on the lane array: three input streams and the place of every result.

    Attributes
    ----------
    streams : Streams
        Of the whole operator.
    parameters : dict of integer arrays, shape (channels,)
        Fields of `isa.REQUANTIZE_LAYOUT` per output channel.
    fill : int
        The input's zero point, which stands for bytes outside the tensor.
    searched : int
        Output channels whose multiplier, shift and rounding had to be searched and proved.
    """

    config: AcceleratorConfig
    streams: Streams
    parameters: dict[str, np.ndarray]
    output_shape: tuple[int, ...]
    fill: int
    searched: int = 0

    @property
    def weights(self) -> Fields:
        """The weight stream by field."""
        return {"taps": self.streams.weights, "last": self.streams.weights_last}

    @property
    def channel_parameters(self) -> Fields:
        """The parameter stream by field."""
        channels = self.streams.channels
        rows = {f"requantize.{name}": row[channels] for name, row in self.parameters.items()}
        return {**rows, "last": self.streams.channels_last}

    def activations(self, values: np.ndarray) -> Fields:
        """Return the activation stream of an int8 input tensor by field."""
        flat = np.append(values.reshape(-1), np.int8(self.fill))
        beats = self.streams.beats
        names = [field.name for field in fields(Beats) if field.name != "source"]
        return {"bytes": flat[beats.source], **{name: getattr(beats, name) for name in names}}

    @cached_property
    def weight_words(self) -> list[int]:
        """The weight stream."""
        return pack(streams.weight_layout(self.config), self.weights)

    @cached_property
    def parameter_words(self) -> list[int]:
        """The parameter stream."""
        return pack(streams.parameter_layout(), self.channel_parameters)

    def activation_words(self, values: np.ndarray) -> list[int]:
        """Return the activation stream of an int8 input tensor."""
        return pack(streams.activation_layout(self.config), self.activations(values))

    def scatter(self, results: np.ndarray) -> np.ndarray:
        """Return the output tensor, int8, from the results, int8 (results, lanes)."""
        destination = self.streams.destination
        used = destination >= 0
        output = np.zeros(self.output_shape, dtype=np.int8)
        output.reshape(-1)[destination[used]] = results[used]
        return output


@dataclass(frozen=True, kw_only=True)
class TableProgram:
    """One operator that is a function of one byte: a table, and the tensor looked up in it.

    ``entries``, int8 (256,), is indexed by the byte read as unsigned.
    """

    config: AcceleratorConfig
    entries: np.ndarray
    output_shape: tuple[int, ...]

    @cached_property
    def load_words(self) -> list[int]:
        """The table's load stream."""
        return pack(streams.TABLE_LOAD_LAYOUT, {"index": np.arange(256), "value": self.entries})

    def lookup_words(self, values: np.ndarray) -> list[int]:
        """Return the tensor as vectors of ``width`` bytes; the last one is filled up with 0."""
        width = self.config.width
        count = -(-values.size // width)
        padded = np.zeros(count * width, dtype=np.int8)
        padded[: values.size] = values.reshape(-1)
        return [int.from_bytes(row.tobytes(), "little") for row in padded.reshape(count, width)]

    def gather(self, results: np.ndarray) -> np.ndarray:
        """Return the output tensor from the looked-up vectors, int8 (vectors, width)."""
        size = int(np.prod(self.output_shape))
        return results.reshape(-1)[:size].reshape(self.output_shape)
