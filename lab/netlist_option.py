"""The option of ``eightfold run`` that simulates a netlist; the entry point loads nothing else."""

from typing import Any

import click

from eightfold.common.extras import needs_extra


@needs_extra("rtl", "netlist")
def _source(context: click.Context, option: click.Parameter, netlist: str) -> Any:
    """Return the source of a netlist, None of no name."""
    if not netlist:
        return None
    from lab.gates import netlist_source  # simulators and synthesis load only when needed

    return netlist_source(netlist)


HELP = "Simulate a netlist in place of the RTL, such as ecp5; docs/gates.md has their names."

NETLIST = click.Option(
    ["--netlist", "source"], default="", metavar="NAME", callback=_source, help=HELP
)
