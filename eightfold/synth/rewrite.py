"""What is done to a netlist between Yosys and nextpnr: the rules, in their order."""

from collections.abc import Callable, Mapping
from typing import Any

from eightfold.synth.absorb import absorb_registers
from eightfold.synth.carry import drop_unread_carries, free_carry_chains
from eightfold.synth.fold import fold_luts
from eightfold.synth.negation import split_negations

RULES: Mapping[str, Callable[[dict[str, Any], str], object]] = {
    "absorb": absorb_registers,
    "negation": lambda netlist, clock: split_negations(netlist),
    "fold": lambda netlist, clock: fold_luts(netlist),
    "carry": lambda netlist, clock: free_carry_chains(netlist),
    "unread": lambda netlist, clock: drop_unread_carries(netlist),
}
"""Each rewrites a netlist of ECP5 cells in place; the text is the name of its clock port."""


def rewrite(netlist: dict[str, Any], clock: str) -> None:
    """Apply all rules to an ECP5 netlist, in place: no value changes in any cycle."""
    for rule in RULES.values():
        rule(netlist, clock)
