"""Published cycles of other accelerators on MLPerf Tiny's networks, to stand beside ours.

The project has not run any of them: every figure is somebody else's, and `Peer.kind` says what it
is. MLPerf Tiny's results are at https://mlcommons.org/benchmarks/inference-tiny.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

LABELS = ("KWS", "VWW", "IC", "AD")
"""Of MLPerf Tiny's networks."""


@dataclass(frozen=True)
class Peer:
    """Another accelerator, and the cycles that one inference takes on it.

    ``multipliers``: int8 multiply-accumulates per cycle, or what is known instead; may be empty.
    ``kind``: estimate of a vendor's tool; measured on the device; derived from a published time.
    ``figures``: cycles in the order of `LABELS`, None without a published figure.
    """

    name: str
    multipliers: str
    kind: Literal["estimate", "measured", "derived"]
    figures: tuple[int | None, ...]

    @property
    def cycles(self) -> dict[str, str]:
        """The figures that there are, by a network's label."""
        pairs = zip(LABELS, self.figures, strict=True)
        return {label: f"{figure:,}" for label, figure in pairs if figure is not None}


PEERS = (
    Peer("Arm Ethos-U55-64", "64", "estimate", (137_709, 355_816, 356_303, 41_090)),
    Peer("Arm Ethos-U55-256", "256", "estimate", (56_222, 146_940, 107_151, 40_929)),
    Peer("Arm Ethos-U85-256", "256", "estimate", (40_347, 117_653, 85_092, 22_200)),
    Peer("Renesas RA8P1, Ethos-U55-256", "256", "derived", (54_000, 181_000, 170_000, 66_000)),
    Peer("SIENNA 16x16, fp32", "256", "derived", (29_830, 97_565, 51_395, 17_670)),
    Peer("GAP9 with NE16", "", "measured", (175_922, 416_176, 228_001, 65_008)),
    Peer("best FPGA per network", "188 to 994 DSPs", "measured", (46_310, 69_191, 27_542, None)),
)
"""Vela 5.2 estimates the Ethos with all tensors and weights in SRAM.

The RA8P1's times in MLPerf Tiny v1.4, 108, 362, 340 and 132 microseconds of the whole board, are
cycles at 500 MHz. SIENNA is an open mesh in SystemVerilog (2026): its microseconds times the 950
MHz that it assumes; im2col and SOFTMAX are left to the host. The FPGAs are those of MLPerf Tiny's
closed division: 188 DSP blocks for KWS, 994 for VWW, 525 for IC (58,813 cycles with 211).
"""


@dataclass(frozen=True)
class Task:
    """A newer task of MLPerf Tiny whose network was estimated only, ours and others'.

    ``folder`` of mlcommons/tiny has the model; ``estimates`` are cycles of one inference by the
    accelerator's name.
    """

    name: str
    folder: str
    macs: int
    estimates: Mapping[str, int]


OURS = "**Eightfold `base`**"

TASKS = (
    Task(
        "IC02, a larger ResNet for images",
        "benchmark/training/image_classification",
        76_484_180,
        {OURS: 337_588, "Arm Ethos-U85-256": 472_967, "Arm Ethos-U55-256": 524_208},
    ),
    Task(
        "streaming wake word",
        "benchmark/training/streaming_wakeword",
        826_374,
        {OURS: 7_384, "Arm Ethos-U85-256": 16_899, "Arm Ethos-U55-256": 18_896},
    ),
)
"""Ours by ``eightfold estimate MODEL.tflite``, Arm's by Vela 5.2 with everything in SRAM."""
