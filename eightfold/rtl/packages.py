"""What tools find the generated Verilog by: a file list, a core for FuseSoC; and all for Vivado."""

import re
from collections.abc import Mapping, Sequence
from importlib.metadata import version

from eightfold.rtl.header import LICENCE, PREFIX

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

FILE_LIST = f"{PREFIX}.f"
"""What simulators read with ``-f`` in the folder of the sources.

Files of several configurations have modules of the same names, so it names one."""
CORE = f"{PREFIX}.core"
CHECK = "check"
"""The folder of the program that the simulation target runs."""
MODEL_HEADER = "Veightfold.h"
"""What the driver's bench includes: the model, which FuseSoC has named after the top module."""
VIVADO_FILES = {"clock.xdc": CONSTRAINTS, "out_of_context.tcl": OUT_OF_CONTEXT}
"""Files of the targets for Vivado."""


def model_header(prefix: str) -> str:
    """Return `MODEL_HEADER`."""
    name = f"V{prefix}_accelerator"
    return f'#include "{name}.h"\n#define Veightfold {name}\n'


def fusesoc_core(
    configs: Sequence[str], default: str, prefix: str, check: Mapping[str, Sequence[str]]
) -> str:
    """Return FuseSoC's description (CAPI2) of the accelerator at several configurations.

    A target per configuration, and ``default``: the file ``accelerator-<config>.v``, and for
    Verilator the waivers beside it. ``lint-<config>`` runs Verilator's lint over it,
    ``sim-<config>`` a network on it in Verilator under the driver in C, and fails unless all
    outputs are golden's; ``vivado-<config>`` synthesizes it out of context. ``configs`` are named
    as their files are, ``prefix`` is what the modules' names begin with, and ``check`` has the
    files of each configuration's simulation, relative to the core's folder.
    """
    lines = [
        "CAPI=2:",
        f"# SPDX-License-Identifier: {LICENCE}",
        f"name: {prefix}:ip:accelerator:{version('eightfold')}",
        "description: int8 inference accelerator, exact by the TFLite 8-bit quantization spec",
        "",
        "filesets:",
    ]
    for config in configs:
        lines += [
            f"  {config}:",
            "    files:",
            f"      - accelerator-{config}.v: {{file_type: verilogSource}}",
            f"  {config}_waivers:",
            "    files:",
            f"      - accelerator-{config}.vlt: {{file_type: vlt}}",
            f"  {config}_check:",
            "    files:",
            *(f"      - {file}: {{{_kind(file)}}}" for file in check[config]),
        ]
    kinds = {name: "xdc" if name.endswith("xdc") else "tclSource" for name in VIVADO_FILES}
    lines += ["  vivado:", "    files:"]
    lines += [f"      - {name}: {{file_type: {kind}}}" for name, kind in kinds.items()]
    lines += ["", "targets:"]
    for target, config in [("default", default), *((config, config) for config in configs)]:
        lines += _target(target, config, f'"tool_verilator ? ({config}_waivers)"', prefix)
    for config in configs:
        lines += [
            *_target(f"lint-{config}", config, f"{config}_waivers", prefix),
            "    flow: lint",
            "    flow_options: {tool: verilator, verilator_options: [-Wall]}",
            *_target(f"sim-{config}", config, f"{config}_waivers, {config}_check", prefix),
            "    flow: sim",
            "    flow_options:",
            "      tool: verilator",
            "      mode: cc",
            # Addresses of the program's memory have 32 bits.
            "      verilator_options: [-O3, -Wno-lint, -CFLAGS, -fno-pie, -LDFLAGS, -no-pie]",
            *_target(f"vivado-{config}", config, "vivado", prefix),
            "    flow: vivado",
            f"    flow_options: {{part: {PART}, pnr: none}}",
        ]
    return "\n".join(lines) + "\n"


def _kind(file: str) -> str:
    """Return the attributes of a file of the simulation; Verilator compiles C as C++."""
    return "file_type: cppSource" + (", is_include_file: true" if file.endswith(".h") else "")


def _target(name: str, config: str, waivers: str, prefix: str) -> list[str]:
    return [
        f"  {name}:",
        f"    filesets: [{config}, {waivers}]",
        f"    toplevel: {prefix}_accelerator",
    ]


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
