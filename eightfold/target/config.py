"""The accelerator's configuration: every size of the hardware, once, with its legal range."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

from eightfold.common.errors import InputError
from eightfold.common.files import named_or_file

MultiplierStyle = Literal["infer", "rows"]

WINDOW_ROWS = 3
"""Rows of the depthwise window: the newest vector and two delayed by lines."""

PAIR_COLUMNS = 5
"""Fewest columns of a window in which a kernel of three fits pairs of pixels: of a lane's own
pixels it takes one, of the others those before, beside and behind it."""

FEATURES = {
    "gather": "GATHER: copies by indices",
    "rows": "row functions of VECTOR: sums, extremes, SOFTMAX, logarithms of rows",
    "counters": "performance counters but CYCLES, which read 0 without",
    "watchdog": "register TIMEOUT, which reads 0 and ignores writes without",
    "wide_strides": "offsets and strides of MOVE and GATHER of 32 bits; without, they wrap at 24",
}
"""What a machine may do without, by the field that says so."""


@dataclass(frozen=True, kw_only=True)
class AcceleratorConfig:
    """Sizes of one accelerator.

    Raises InputError if a value is out of range; the message names the field, its range and the
    value.
    """

    lanes: int = 16
    """Lanes of the MAC array, each one output channel; 1 to 64."""

    width: int = 16
    """Width of a lane's dot product, in int8 multiplications per cycle; 2 to 64."""

    psum_depth: int = 512
    """Partial sums that each lane keeps, in int32 words; a power of two, 16 to 4096."""

    parameter_banks: int = 16
    """Sets of requantization parameters that each lane holds, one of them for the vector engine,
    whose results the lanes requantize; a power of two, 4 to 64."""

    output_depth: int = 64
    """Result vectors that wait for a consumer; a power of two, 32 to 1024.

    At least the pipeline's latency, or results cannot leave at one vector per cycle.
    """

    port: int = 16
    """Bytes of a beat on the AXI4 memory port; a power of two, 4 to 64."""

    scratchpad: int = 131072
    """Bytes of the scratchpad; a power of two, 4 KiB to 1 MiB."""

    weight_buffer: int = 8192
    """Bytes of weights fetched ahead; a power of two, 512 to 128 KiB, at least 32 beats."""

    line_depth: int = 512
    """Vectors between two rows of a depthwise window, at most; a power of two, 16 to 4096."""

    vector_lanes: int = 8
    """Elements per cycle of the vector engine; a power of two, 1 to `vector`."""

    tables: int = 2
    """Tables of 256 int32 entries that the vector engine holds; a power of two, 2 to 16."""

    command_queue: int = 64
    """32-bit command words that wait at each engine; a power of two, 64 to 1024."""

    multiplier: MultiplierStyle = "infer"
    """8x8 products: ``infer`` leaves them to synthesis (DSP blocks), ``rows`` adds partial
    products of two multiplier bits each (carry chains, no DSP)."""

    dsp_taps: int = 0
    """With ``rows``: how many of a lane's products are left to synthesis all the same, where a
    device has DSP blocks to spare; 0 to a quarter of `width`."""

    requantizers: int = 0
    """Requantizers that all lanes share: a vector's results go through them in turn, so that it
    takes as many cycles as a requantizer has lanes; 0: one per lane. `vector_lanes` to `lanes`."""

    gather: bool = True
    """Whether the mover executes GATHER: see `FEATURES`, as of the four that follow."""

    rows: bool = True
    counters: bool = True
    watchdog: bool = True
    wide_strides: bool = True

    def __post_init__(self) -> None:
        _check_range("lanes", self.lanes, 1, 64)
        _check_range("width", self.width, 2, 64)
        _check_power("psum_depth", self.psum_depth, 16, 4096)
        _check_power("parameter_banks", self.parameter_banks, 4, 64)
        _check_power("output_depth", self.output_depth, 32, 1024)
        _check_power("port", self.port, 4, 64)
        _check_power("scratchpad", self.scratchpad, 4096, 1 << 20)
        _check_power("weight_buffer", self.weight_buffer, max(512, 32 * self.port), 1 << 17)
        _check_power("line_depth", self.line_depth, 16, 4096)
        _check_power("vector_lanes", self.vector_lanes, 1, self.vector)
        _check_power("tables", self.tables, 2, 16)
        _check_power("command_queue", self.command_queue, 64, 1024)
        _check_range("dsp_taps", self.dsp_taps, 0, self.width // 4)
        if self.requantizers != 0:
            _check_range("requantizers", self.requantizers, self.vector_lanes, self.lanes)
        for name in FEATURES:
            if type(value := getattr(self, name)) is not bool:
                raise InputError(f"{name} must be true or false, not {value!r}")
        styles = get_args(MultiplierStyle)
        if self.multiplier not in styles:
            raise InputError(
                f"multiplier must be one of {', '.join(styles)}, not {self.multiplier!r}"
            )

    @property
    def macs_per_cycle(self) -> int:
        """Multiply-accumulates per cycle: ``lanes * width``."""
        return self.lanes * self.width

    @property
    def matrix_banks(self) -> int:
        """Channel groups whose requantization parameters a lane holds; the vector engine's are
        behind them."""
        return self.parameter_banks - 1

    @property
    def vector(self) -> int:
        """Bytes of a scratchpad access: the least power of two that holds lanes, width, port."""
        return 1 << (max(self.lanes, self.width, self.port) - 1).bit_length()

    @property
    def weight_word(self) -> int:
        """Bytes of a lane's weights in memory: ``width`` rounded up to a power of two."""
        return 1 << (self.width - 1).bit_length()

    @property
    def window_columns(self) -> int:
        """Columns of the depthwise window."""
        return max(1, self.width // WINDOW_ROWS)

    @property
    def window_rows(self) -> int:
        """Rows of the depthwise window."""
        return min(WINDOW_ROWS, self.width)

    @property
    def pixel(self) -> int:
        """Bytes of a pixel of which a depthwise vector may have two (`eightfold.isa.MATRIX`,
        ``pairs``): half of a group's lanes; 0 if the window is too narrow for it."""
        shared = min(self.lanes, self.width)
        return shared // 2 if self.window_columns >= PAIR_COLUMNS and shared % 2 == 0 else 0

    @property
    def turns(self) -> int:
        """Cycles in which a vector's results go through the requantizers."""
        return -(-self.lanes // self.requantizers) if self.requantizers else 1

    @property
    def left_out(self) -> tuple[str, ...]:
        """The `FEATURES` that it does not have."""
        return tuple(name for name in FEATURES if not getattr(self, name))

    @property
    def memory_bits(self) -> int:
        """Bits of a MOVE's and GATHER's byte offsets in memory, which wrap there."""
        return 32 if self.wide_strides else 24

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, validated like a new one."""
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields by name, as a ``.toml`` file would state them."""
        return asdict(self)

    @classmethod
    def load(cls, source: "str | Path | AcceleratorConfig") -> "AcceleratorConfig":
        """Return a preset by its name, or the configuration in a ``.toml`` file.

        Raises InputError if there is no such preset or file, or the file is not valid.
        """
        if isinstance(source, AcceleratorConfig):
            return source
        return named_or_file("config", "preset", source, PRESETS, cls._from_table)

    @classmethod
    def _from_table(cls, table: Mapping[str, Any]) -> "AcceleratorConfig":
        known = sorted(field.name for field in fields(cls))
        if unknown := sorted({*table} - {*known}):
            raise InputError(f"unknown field {', '.join(unknown)}; known: {', '.join(known)}")
        return cls(**table)


def _check_range(name: str, value: object, low: int, high: int) -> None:
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{name} must be an integer in {low}..{high}, not {value!r}")


def _check_power(name: str, value: object, low: int, high: int) -> None:
    _check_range(name, value, low, high)
    assert isinstance(value, int)
    if value & (value - 1):
        raise InputError(f"{name} must be a power of two in {low}..{high}, not {value}")


_NANO = AcceleratorConfig(
    lanes=4, width=4, port=4, scratchpad=1 << 15, weight_buffer=1024, vector_lanes=2
)

PRESETS: dict[str, AcceleratorConfig] = {
    "pico": _NANO.replace(
        vector_lanes=1, parameter_banks=4, requantizers=1, **dict.fromkeys(FEATURES, False)
    ),
    "nano": _NANO,
    "small": AcceleratorConfig(
        lanes=8,
        width=8,
        port=8,
        scratchpad=1 << 16,
        weight_buffer=4096,
        vector_lanes=4,
        multiplier="rows",
    ),
    "base": AcceleratorConfig(lanes=16, width=16, multiplier="rows", dsp_taps=4),
    "large": AcceleratorConfig(
        lanes=32,
        width=32,
        port=32,
        scratchpad=1 << 18,
        weight_buffer=1 << 14,
        vector_lanes=16,
        multiplier="rows",
    ),
}
"""Named configurations, lanes x width: 4x4 twice, 8x8, 16x16, 32x32; the port has a lane's width.
`pico` has one requantizer, and none of `FEATURES`."""
