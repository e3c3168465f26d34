"""The accelerator's Verilog for Vivado: interface attributes, and a Tcl script."""

import re
from importlib.metadata import version

_PORT = re.compile(r"^  (?:input|output) \w+(?: \[(\d+):0\])? (\w+)", re.MULTILINE)
_BUS = re.compile(r"([ms]_axi)_(\w+)")

CLOCK_NS = 10
"""The period that the scripts ask for, of a clock of 100 MHz."""

PART = "xc7a100tcsg324-1"
"""The part that the scripts take, unless another is given."""

CONSTRAINTS = f"create_clock -name clk -period {CLOCK_NS}.0 [get_ports clk]\n"

OUT_OF_CONTEXT = (
    "set_property -name {STEPS.SYNTH_DESIGN.ARGS.MORE OPTIONS} -value {-mode out_of_context} "
    "-objects [get_runs synth_1]\n"
)
"""For a project: ports become no pads."""


def with_interfaces(text: str, top: str) -> str:
    """Return Verilog whose top module's ports say by attributes what interface they belong to.

    AXI4 and AXI4-Lite, the clock with its buses, the reset that is active high, and the interrupt;
    in a block design they are then connected as a whole. Other tools pass over the attributes.
    ``text`` is a unit as `eightfold.rtl.verilog.unit_verilog` writes it.
    """
    start = text.index(f"module {top} (")
    end = text.index(");", start)
    head = text[start:end]
    widths = {match[2]: int(match[1] or 0) + 1 for match in _PORT.finditer(head)}
    seen: set[str] = set()

    def attributed(match: re.Match[str]) -> str:
        lines = [f'  (* {name} = "{value}" *)\n' for name, value in _attributes(match[2], widths)]
        bus = _BUS.fullmatch(match[2])
        if bus and bus[1] in seen:
            lines = lines[:1]  # parameters stand once
        elif bus:
            seen.add(bus[1])
        return "".join(lines) + match[0]

    made = "eightfold verilog"
    comment = text[:start].replace(made, f"{made} --vivado", 1)
    return comment + _PORT.sub(attributed, head) + text[end:]


def _attributes(port: str, widths: dict[str, int]) -> list[tuple[str, str]]:
    """Return the attributes of a port, X_INTERFACE_INFO first; none if it has no interface."""
    if bus := _BUS.fullmatch(port):
        name = bus[1]
        if name == "m_axi":
            parameters = (
                f"PROTOCOL AXI4, DATA_WIDTH {widths['m_axi_rdata']}, "
                f"ADDR_WIDTH {widths['m_axi_araddr']}, ID_WIDTH {widths['m_axi_arid']}, "
                "MAX_BURST_LENGTH 16, SUPPORTS_NARROW_BURST 0, NUM_READ_OUTSTANDING 64, "
                "NUM_WRITE_OUTSTANDING 16"
            )
        else:
            parameters = f"PROTOCOL AXI4LITE, DATA_WIDTH 32, ADDR_WIDTH {widths['s_axi_araddr']}"
        kind = f"xilinx.com:interface:aximm:1.0 {name} {bus[2].upper()}"
    elif port == "clk":
        buses = [name for name in ("s_axi", "m_axi") if any(p.startswith(name) for p in widths)]
        associated = f"ASSOCIATED_BUSIF {':'.join(buses)}, " if buses else ""
        kind, parameters = (
            "xilinx.com:signal:clock:1.0 clk CLK",
            f"{associated}ASSOCIATED_RESET rst",
        )
    elif port == "rst":
        kind, parameters = "xilinx.com:signal:reset:1.0 rst RST", "POLARITY ACTIVE_HIGH"
    elif port == "interrupt":
        kind = "xilinx.com:signal:interrupt:1.0 interrupt INTERRUPT"
        parameters = "SENSITIVITY LEVEL_HIGH"
    else:
        return []
    return [("X_INTERFACE_INFO", kind), ("X_INTERFACE_PARAMETER", parameters)]


def tcl(source: str, top: str, prefix: str) -> str:
    """Return a script for Vivado that packages and synthesizes the Verilog beside it."""
    number = ".".join(version("eightfold").split(".")[:2])
    return f"""\
# Packages {source} as an IP into ./vivado/ip, and synthesizes it out of context into ./vivado:
#   vivado -mode batch -source FILE.tcl [-tclargs PART [PERIOD_NS]]
set part [expr {{$argc > 0 ? [lindex $argv 0] : "{PART}"}}]
set period [expr {{$argc > 1 ? [lindex $argv 1] : {CLOCK_NS}.0}}]
set here [file dirname [file normalize [info script]]]
set out [file join $here vivado]
file mkdir $out

create_project -force package [file join $out package] -part $part
add_files [file join $here {source}]
set_property top {top} [current_fileset]
update_compile_order -fileset sources_1
ipx::package_project -root_dir [file join $out ip] -vendor {prefix} -library ip \\
    -taxonomy /UserIP -import_files -force
set core [ipx::current_core]
set_property name {top} $core
set_property version {number} $core
set_property display_name {{Eightfold int8 inference accelerator}} $core
ipx::create_xgui_files $core
ipx::update_checksums $core
ipx::save_core $core
close_project

create_project -in_memory -part $part
read_verilog [file join $here {source}]
synth_design -top {top} -part $part -mode out_of_context
create_clock -name clk -period $period [get_ports clk]
opt_design
report_utilization -file [file join $out utilization.txt]
report_timing_summary -file [file join $out timing.txt]
write_checkpoint -force [file join $out {top}.dcp]
"""
