"""Configurations that are legal and that nobody would choose."""

import numpy as np

from eightfold.target.config import PRESETS, AcceleratorConfig

ODD = "odd"
"""The configuration that stands for odd ones by turns; theirs are called ``odd:3x5``."""

ODD_CONFIGS = {
    f"{ODD}:{config.lanes}x{config.width}": config
    for config in (
        PRESETS["nano"].replace(lanes=3, width=5, vector_lanes=8, psum_depth=16, line_depth=64),
        PRESETS["nano"].replace(
            lanes=1, width=2, port=32, vector_lanes=1, tables=4, parameter_banks=2
        ),
        PRESETS["nano"].replace(
            lanes=7, width=3, port=8, vector_lanes=2, output_depth=32, scratchpad=1 << 14
        ),
    )
}
"""Few, as each is a simulator that is built: lanes that are no power of two, a port narrower or
wider than both, a vector engine as wide as the scratchpad or of one lane."""

LANES = (1, 2, 3, 5, 7, 8, 12, 17, 33, 64)
"""Lanes and widths that are drawn; a width has two multiplications at least."""


def random_config(rng: np.random.Generator) -> AcceleratorConfig:
    """Return any legal configuration: odd numbers of lanes, a width, memories apart from it."""

    def power(low: int, high: int) -> int:
        """Return a power of two of a range whose ends are such."""
        return 1 << int(rng.integers(low.bit_length() - 1, high.bit_length()))

    lanes, width = (int(rng.choice(LANES)) for _ in range(2))
    port = power(4, 64)
    config = AcceleratorConfig(
        lanes=lanes,
        width=max(width, 2),
        port=port,
        psum_depth=power(16, 1024),
        parameter_banks=power(2, 64),
        output_depth=power(32, 128),
        scratchpad=power(1 << 14, 1 << 18),
        weight_buffer=power(max(512, 32 * port), 1 << 14),
        line_depth=power(16, 1024),
        vector_lanes=1,
        tables=power(2, 16),
        command_queue=power(64, 256),
    )
    return config.replace(vector_lanes=power(1, config.vector))
