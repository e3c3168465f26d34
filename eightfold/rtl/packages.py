"""What tools read to find the generated Verilog: a file list, and a core for FuseSoC."""

from collections.abc import Sequence
from importlib.metadata import version

from eightfold.rtl.header import LICENCE, PREFIX

FILE_LIST = f"{PREFIX}.f"
CORE = f"{PREFIX}.core"


def file_list(sources: Sequence[str]) -> str:
    """Return what simulators read with ``-f`` in the folder of the sources.

    Files of several configurations have modules of the same names, so a list holds one.
    """
    return "".join(f"{source}\n" for source in sources)


def fusesoc_core(configs: Sequence[str], default: str, prefix: str) -> str:
    """Return FuseSoC's description (CAPI2) of the accelerator at several configurations.

    A target per configuration, and ``default``: the file ``accelerator-<config>.v``, and for
    Verilator the waivers beside it. ``lint-<config>`` runs Verilator's lint over it.

    Parameters
    ----------
    configs
        The configurations, each named as its files are.
    default
        The one of them that the target ``default`` takes.
    prefix
        What the modules' names begin with.
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
        ]
    lines += ["", "targets:"]
    for target, config in [("default", default), *((config, config) for config in configs)]:
        lines += _target(target, config, f'"tool_verilator ? ({config}_waivers)"', prefix)
    for config in configs:
        lines += [
            *_target(f"lint-{config}", config, f"{config}_waivers", prefix),
            "    flow: lint",
            "    flow_options: {tool: verilator, verilator_options: [-Wall]}",
        ]
    return "\n".join(lines) + "\n"


def _target(name: str, config: str, waivers: str, prefix: str) -> list[str]:
    return [
        f"  {name}:",
        f"    filesets: [{config}, {waivers}]",
        f"    toplevel: {prefix}_accelerator",
    ]
