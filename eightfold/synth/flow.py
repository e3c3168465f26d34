"""One unit through synthesis, place and route, with results kept by content."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.rtl.header import without_header
from eightfold.rtl.verilog import unit_verilog
from eightfold.synth.area import Area, area_of, cells_of, parts_of
from eightfold.synth.device import Device
from eightfold.synth.place_and_route import PlaceAndRoute, place_and_route
from eightfold.synth.report import SynthesisResult, Timing
from eightfold.synth.rewrite import register_ports, rewrite
from eightfold.synth.tools import Stage, digest_of, find_tool, has_tool, kept, own_steps, synthesize
from eightfold.target.config import AcceleratorConfig


def run_synthesis(
    unit: str,
    config: AcceleratorConfig,
    *,
    config_name: str,
    seeds: Sequence[int] = (1, 2, 3),
    blocks: int | None = None,
    speed: int = 6,
    family: str = "ecp5",
    out: Path = Path("build/synth"),
    verilog: str | None = None,
    route: bool = True,
    stage: Stage = lambda words: None,
) -> SynthesisResult:
    """Synthesize one unit, place and route it once per seed, and return the figures.

    The unit is measured out of context: no pads, and on the routed copy a register at each port
    except the clock, so that paths through ports count. Area is without these registers.

    A step whose Verilog, options and tool versions have not changed since is not run again.

    Parameters
    ----------
    unit
        A unit that `eightfold.rtl.verilog.unit_verilog` knows.
    config_name
        Preset or file stem: files are in ``out/<family>/<config_name>/<unit>``.
    seeds
        Seeds of the placer; one run each.
    blocks
        Seed whose placement decides where RAM blocks and multipliers are; None: each its own.
    speed
        Speed grade of the device.
    family
        One of `FAMILIES`. ``ecp5`` is placed and routed, Xilinx' too where the system has
        nextpnr-himbaechel-xilinx on ``PATH``; the others get area figures.
    verilog
        The Verilog to measure instead of the unit's own.
    route
        Whether to place and route; without, the area alone.
    stage
        Called with a few words when a step begins.

    Raises
    ------
    InputError
        If the unit, family or speed grade is unknown, no seed is given, a tool is missing, or
        the unit does not fit the device.
    """
    device = Device.load(family)
    routed = route and has_tool(device.router)
    if routed:
        _check_route(device, speed, seeds)
    tools = [find_tool(name).version for name in ("yosys", *([device.router] if routed else []))]
    if verilog is None:
        stage("Verilog")
        verilog = unit_verilog(unit, config)
    digest = digest_of(without_header(verilog))
    folder = out / family / config_name / unit
    folder.mkdir(parents=True, exist_ok=True)
    try:
        netlist_key = digest_of(digest, device.yosys, tools[0], *own_steps())
        area = kept(
            folder / "area.json",
            netlist_key,
            lambda: _synthesize(verilog, device, folder, stage, routed),
            makes=folder / ("registered.json" if routed else "synthesized.json"),
        )
        luts = area_of(area["cells"], family).lut4_equivalents
        timing: dict[int, Timing] = {}
        if routed:
            jobs = [PlaceAndRoute(device, folder, luts, speed, seed, blocks) for seed in seeds]
            timing = _route(jobs, digest_of(netlist_key, tools[1]), stage)
    except InputError as error:
        raise InputError(f"{unit} ({config_name}): {error}") from None
    warnings = [*area["warnings"], *(w for t in timing.values() for w in t.warnings)]
    return SynthesisResult(
        unit=unit,
        config_name=config_name,
        config=config,
        family=family,
        device=device.name,
        speed=speed if routed and device.speeds else None,
        cells=area["cells"],
        area=area_of(area["cells"], family),
        parts={name: Area(**figures) for name, figures in area["parts"].items()},
        timing=timing,
        blocks=blocks if routed else None,
        target_mhz=device.mhz if routed else None,
        seconds=area["seconds"],
        warnings=tuple(dict.fromkeys(warnings)),
        tools=tuple(tools),
        digest=digest,
    )


def _check_route(device: Device, speed: int, seeds: Sequence[int]) -> None:
    """Refuse a speed grade that the device does not have, and to route with no seed."""
    if device.speeds and speed not in device.speeds:
        grades = ", ".join(str(grade) for grade in device.speeds)
        raise InputError(f"speed grade of {device.name} must be one of {grades}, not {speed}")
    if not seeds:
        raise InputError("at least one seed is needed")


def _route(jobs: Sequence[PlaceAndRoute], key: str, stage: Stage) -> dict[int, Timing]:
    """Place and route once per seed; return the timing of each."""
    timing = {}
    for number, job in enumerate(jobs, start=1):
        here = f"seed {number} of {len(jobs)}"
        timing[job.seed] = place_and_route(
            job, key, lambda words, here=here: stage(f"{here}, {words}")
        )
    return timing


def _synthesize(
    verilog: str, device: Device, folder: Path, stage: Stage, routed: bool
) -> dict[str, Any]:
    script = (
        f"read_verilog unit.v; hierarchy -check -auto-top; {device.yosys}; check -noinit; "
        "write_json synthesized.json"
    )
    netlist, warnings, seconds = synthesize(verilog, script, folder, stage)
    if device.family == "ecp5":
        rewrite(netlist, device.clock)
        (folder / "netlist.json").write_text(json.dumps(netlist), encoding="utf-8")
    cells = cells_of(netlist)
    shares = {name: asdict(area) for name, area in parts_of(netlist, device.family).items()}
    if routed:
        register_ports(netlist, device.clock, device.family)
        (folder / "registered.json").write_text(json.dumps(netlist), encoding="utf-8")
    return {"cells": cells, "parts": shares, "seconds": seconds, "warnings": warnings}
