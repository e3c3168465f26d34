"""What tools read to find the generated Verilog: a file list, and a core for FuseSoC."""

from collections.abc import Mapping, Sequence
from importlib.metadata import version

from eightfold.rtl.header import LICENCE, PREFIX
from eightfold.rtl.vivado import CONSTRAINTS, OUT_OF_CONTEXT, PART

FILE_LIST = f"{PREFIX}.f"
CORE = f"{PREFIX}.core"
CHECK = "check"
"""The folder of the program that the simulation target runs."""
MODEL_HEADER = "Veightfold.h"
"""What the driver's bench includes: the model, which FuseSoC has named after the top module."""
VIVADO_FILES = {"clock.xdc": CONSTRAINTS, "out_of_context.tcl": OUT_OF_CONTEXT}
"""Files of the targets for Vivado."""


def file_list(sources: Sequence[str]) -> str:
    """Return what simulators read with ``-f`` in the folder of the sources.

    Files of several configurations have modules of the same names, so a list holds one.
    """
    return "".join(f"{source}\n" for source in sources)


def model_header(prefix: str) -> str:
    """Return `MODEL_HEADER`."""
    name = f"V{prefix}_accelerator"
    return f'#include "{name}.h"\n' + (
        "" if name == "Veightfold" else f"#define Veightfold {name}\n"
    )


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
