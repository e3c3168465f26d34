"""Accelerators whose products the simulator computes: the same cycles and bytes, sooner.

A preset with ``multiplier = "rows"`` adds partial products, so that no DSP block is needed. With
``infer`` the rest is the same hardware, 1.5 times as quick to simulate, and there is less of it to
compile; `tests/sim/system/test_configurations.py` holds the two against each other.
"""

from eightfold.target.config import PRESETS

TWINS = {name: config.replace(multiplier="infer") for name, config in PRESETS.items()}
"""Each preset's twin; `nano` is its own."""
