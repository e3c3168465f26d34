"""Published cycles of other accelerators on MLPerf Tiny's networks, to stand beside ours.

The project has not run any of them: every figure is somebody else's, and `Peer.kind` says what it
is. MLPerf Tiny's results are at https://mlcommons.org/benchmarks/inference-tiny.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Peer:
    """Another accelerator, and the cycles that one inference takes on it, by a network's label."""

    name: str
    multipliers: str
    """int8 multiply-accumulates per cycle, or what is known instead; may be empty."""

    cycles: Mapping[str, str]
    """A network without a published figure is left out."""

    kind: Literal["estimate", "measured", "derived"]
    """Estimate of a vendor's tool; measured on the device; derived from a published time."""


PEERS = (
    Peer(
        "Arm Ethos-U55-64",
        "64",
        {"KWS": "137,709", "VWW": "355,816", "IC": "356,303", "AD": "41,090"},
        "estimate",
    ),
    Peer(
        "Arm Ethos-U55-256",
        "256",
        {"KWS": "56,222", "VWW": "146,940", "IC": "107,151", "AD": "40,929"},
        "estimate",
    ),
    Peer(
        "Arm Ethos-U85-256",
        "256",
        {"KWS": "40,347", "VWW": "117,653", "IC": "85,092", "AD": "22,200"},
        "estimate",
    ),
    Peer(
        "Renesas RA8P1, Ethos-U55-256",
        "256",
        {"KWS": "54,000", "VWW": "181,000", "IC": "170,000", "AD": "66,000"},
        "derived",
    ),
    Peer(
        "SIENNA 16x16, fp32",
        "256",
        {"KWS": "29,830", "VWW": "97,565", "IC": "51,395", "AD": "17,670"},
        "derived",
    ),
    Peer(
        "GAP9 with NE16",
        "",
        {"KWS": "175,922", "VWW": "416,176", "IC": "228,001", "AD": "65,008"},
        "measured",
    ),
    Peer(
        "best FPGA per network",
        "188 to 994 DSPs",
        {"KWS": "46,310", "VWW": "69,191", "IC": "27,542"},
        "measured",
    ),
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
