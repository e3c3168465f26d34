"""Attributes of memories, which the Verilog hands to synthesis; simulation ignores them."""

from typing import Any

NO_BYPASS: dict[str, Any] = {"no_rw_check": 1}  # Any: Amaranth's stub allows strings only
"""What a read gives in the cycle of a write to the same place is never used.

Without it Yosys would add a bypass to a RAM block.
"""

RAM_BLOCK: dict[str, Any] = {**NO_BYPASS, "ram_style": "block"}
"""A RAM block, however few words: a LUT as RAM takes the place of logic, of which there is less."""
