"""One unit through synthesis, place and route, with results kept by content.

A full device is placed in half an hour and routed in one or two: two calls of nextpnr, so that
routing that was stopped starts again. On ECP5 cells of the late paths are moved
(`eightfold.synth.relocate`) after routing, and their wires routed again, as long as that makes the
clock faster. A unit that fills the device is routed once, because each wire that is routed again
there takes places of others: its cells are moved before, by the delays that nextpnr estimates.

RAM blocks and multipliers have few places, and may be put where another placement put them. A unit
that fills the device always has such a floorplan: nextpnr's electrostatic placer finds better
places for them than the placer that puts the logic around them, for timing, and their exchange
(`eightfold.synth.blocks`) still better ones. docs/synthesis.md has the figures.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from eightfold.common.errors import InputError
from eightfold.rtl.header import without_header
from eightfold.rtl.verilog import unit_verilog
from eightfold.synth.area import Area, area_of, cells_of, parts_of
from eightfold.synth.blocks import fix_blocks
from eightfold.synth.device import Device
from eightfold.synth.paths import Delays
from eightfold.synth.relocate import Relocation
from eightfold.synth.report import SynthesisResult, Timing, slow_end_points, timing_of
from eightfold.synth.rewrite import register_ports, rewrite
from eightfold.synth.tools import (
    Stage,
    digest_of,
    find_tool,
    has_tool,
    kept,
    own_steps,
    run_tool,
    synthesize,
)
from eightfold.target.config import AcceleratorConfig

ROUNDS = 5
"""How often cells of late paths are moved at most, unless somebody says otherwise."""


@dataclass(frozen=True)
class PlaceAndRoute:
    """What ``registered.json`` in ``folder`` is placed and routed for.

    ``blocks``: the seed whose placement decides where RAM blocks and multipliers are; None:
    ``seed`` itself. ``floorplan``: nothing but these places is wanted of it.
    """

    device: Device
    folder: Path
    speed: int
    seed: int
    blocks: int | None = None
    floorplan: bool = False

    @property
    def name(self) -> str:
        """Return what the files of this run are called, without suffixes."""
        blocks = "" if self.blocks in (None, self.seed) else f"-blocks-{self.blocks}"
        speed = f"speed-{self.speed}-" if self.device.speeds else ""
        return f"{speed}seed-{self.seed}{blocks}{'-floorplan' if self.floorplan else ''}"

    @property
    def origin(self) -> "PlaceAndRoute | None":
        """Return the run that decides where the blocks are, if it is another one."""
        seed = self.seed if self.blocks is None else self.blocks
        if self.floorplan or (seed == self.seed and not self.device.block_placer):
            return None
        return replace(self, seed=seed, blocks=None, floorplan=bool(self.device.block_placer))

    @property
    def netlist(self) -> str:
        """Return the file that is placed."""
        return "registered.json" if self.origin is None else f"{self.name}.fixed.json"

    @property
    def placed(self) -> str:
        """Return the file of the placement."""
        return f"{self.name}.placed.json"

    @property
    def placer(self) -> list[str]:
        """Return nextpnr's options for the placement."""
        options = self.device.block_placer if self.floorplan else self.device.placer
        files = ["--json", self.netlist, "--no-route", "--write", self.placed]
        estimates = self.routes_once and not self.floorplan
        delays = ["--sdf", f"{self.name}.placed.sdf"] if estimates else []
        return [*self._common, *options, *files, *delays]

    def router(self, netlist: str, stem: str) -> list[str]:
        """Return nextpnr's options for the routing of a placed netlist into files ``stem.*``."""
        options = ["--json", netlist, "--no-pack", "--no-place"]
        report = ["--report", f"{stem}.report.json", "--detailed-timing-report"]
        routed = ["--write", f"{stem}.routed.json", "--sdf", f"{stem}.routed.sdf"]
        return [*self._common, *options, *report, *(routed if self.relocates else [])]

    @property
    def relocates(self) -> bool:
        """Whether cells of late paths are moved."""
        return self.device.family == "ecp5"

    @property
    def routes_once(self) -> bool:
        """Whether the unit fills the device: its cells are moved before the routing, not after."""
        return bool(self.device.block_placer)

    @property
    def _common(self) -> list[str]:
        common = [*self.device.nextpnr, "--seed", str(self.seed), "--timing-allow-fail"]
        if self.device.family != "ecp5":
            return [*common, "--freq", f"{self.device.mhz:g}"]
        files = ["--lpf-allow-unconstrained", "--lpf", "clock.lpf"]
        return [*common, "--speed", str(self.speed), "--out-of-context", *files]


def place_and_route(run: PlaceAndRoute, key: str, stage: Stage, rounds: int = ROUNDS) -> Timing:
    """Place and route, and return the clock; a step with ``key`` and options as before is kept.

    ``key`` is a digest of all else that the figures depend on: the netlist, the tool's version.
    ``rounds``: how often cells of late paths are moved and routed again at most; 0: none is moved,
    before routing neither. Raises InputError if nextpnr fails, or its package is missing.
    """
    rounds = rounds if run.relocates else 0
    steps = own_steps("paths", "relocate") if rounds else []
    router = run.router(run.placed, run.name)
    routing = digest_of(_placement(run, key), *router, *(steps if run.routes_once else []))

    def relocate() -> tuple[str, int]:
        names = f"{run.name}.placed", f"{run.name}.moved"
        return _relocate(run.folder, *names, stage, Relocation.run_on)

    def place_then_route() -> dict[str, Any]:
        placed = _place(run, key, stage)
        netlist = relocate if rounds and run.routes_once else lambda: (run.placed, 0)
        each = [first := _route(run, run.name, routing, stage, netlist)]
        if not run.routes_once:
            each += _route_again(run, first, digest_of(routing, *steps), stage, rounds)
        best = max(each, key=lambda timing: timing.mhz)
        return asdict(
            replace(
                best,
                moved=sum(timing.moved for timing in each[: each.index(best) + 1]),
                seconds=round(placed["seconds"] + sum(timing.seconds for timing in each), 1),
                warnings=(*placed["warnings"], *best.warnings),
            )
        )

    figures = run.folder / f"{run.name}.json"
    whole = digest_of(routing, str(rounds), *steps)
    return Timing.from_dict(kept(figures, whole, place_then_route))


def _route_again(
    run: PlaceAndRoute, timing: Timing, key: str, stage: Stage, rounds: int
) -> Iterator[Timing]:
    """Move cells of late paths, route again, and so on until the clock gains less than 1 %."""
    stems = [run.name, *(f"{run.name}-moved-{number}" for number in range(1, rounds + 1))]
    for before, after in pairwise(stems):

        def relocate(before: str = before, after: str = after) -> tuple[str, int]:
            return _relocate(run.folder, f"{before}.routed", after, stage, Relocation.run)

        mhz, key = timing.mhz, digest_of(key, after)
        timing = _route(run, after, key, stage, relocate)
        yield timing
        if timing.mhz < 1.01 * mhz:
            break


def _relocate(
    folder: Path, before: str, after: str, stage: Stage, move: Callable[[Relocation], int]
) -> tuple[str, int]:
    """Move cells of late paths in files ``before.*``; return the new netlist's and how many."""
    stage("late paths")
    netlist = json.loads((folder / f"{before}.json").read_text(encoding="utf-8"))
    moved = move(Relocation(netlist, Delays.load(folder / f"{before}.sdf")))
    (folder / f"{after}.json").write_text(json.dumps(netlist), encoding="utf-8")
    return f"{after}.json", moved


def _route(
    run: PlaceAndRoute,
    stem: str,
    key: str,
    stage: Stage,
    netlist: Callable[[], tuple[str, int]],
) -> Timing:
    """Route into files ``stem.*``, unless that is kept with ``key``.

    ``netlist`` returns the file with the placed netlist, and how many cells it moved for it.
    """

    def route() -> dict[str, Any]:
        begin = time.monotonic()
        name, moved = netlist()
        warnings = _nextpnr(run, run.router(name, stem), f"{stem}.log", stage)["warnings"]
        found = json.loads((run.folder / f"{stem}.report.json").read_text(encoding="utf-8"))
        mhz, path = timing_of(found, run.device.clock)
        seconds = time.monotonic() - begin
        slow = slow_end_points(found, run.device.clock)
        return asdict(
            Timing(
                mhz=round(mhz, 2),
                path=path,
                seconds=seconds,
                warnings=tuple(warnings),
                slow=slow,
                moved=moved,
            )
        )

    routed = run.folder / f"{stem}.routed.json" if run.relocates else None
    return Timing.from_dict(kept(run.folder / f"{stem}.kept", key, route, makes=routed))


def _placement(run: PlaceAndRoute, key: str) -> str:
    """Return a digest of what the placement depends on."""
    origin = run.origin
    others = [] if origin is None else [_placement(origin, key), *own_steps("blocks")]
    return digest_of(key, run.device.constraints, *run.placer, *others)


def _place(run: PlaceAndRoute, key: str, stage: Stage) -> dict[str, Any]:
    """Place, after the run that `run` takes its blocks from, unless both are kept."""

    def place() -> dict[str, Any]:
        seconds = 0.0
        if (origin := run.origin) is not None:
            blocks = f"blocks of seed {origin.seed}"
            seconds = _place(origin, key, lambda words: stage(f"{blocks}, {words}"))["seconds"]
            netlist, placed, fixed = (
                run.folder / name for name in (origin.netlist, origin.placed, run.netlist)
            )
            fix_blocks(netlist, placed, fixed, run.device.family, exchange=origin.floorplan)
        stage("packing")
        result = _nextpnr(run, run.placer, f"{run.name}.place.log", stage)
        return result | {"seconds": seconds + result["seconds"]}

    figures = run.folder / f"{run.name}.placed.kept"
    return kept(figures, _placement(run, key), place, makes=run.folder / run.placed)


def _nextpnr(run: PlaceAndRoute, options: Sequence[str], log: str, stage: Stage) -> dict[str, Any]:
    # Both calls read it, and another call's options may have changed it since the first.
    (run.folder / "clock.lpf").write_text(run.device.constraints, encoding="utf-8")
    begin = time.monotonic()
    nextpnr = find_tool(run.device.router)
    warnings = run_tool(nextpnr, options, folder=run.folder, log=log, stage=stage)
    return {"seconds": time.monotonic() - begin, "warnings": warnings}


def run_synthesis(
    unit: str,
    config: AcceleratorConfig,
    *,
    config_name: str,
    seeds: Sequence[int] = (1, 2, 3),
    blocks: int | None = None,
    rounds: int = ROUNDS,
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

    A step whose Verilog, options and tool versions have not changed since is not run again. Files
    are in ``out/<family>/<config_name>/<unit>``.

    ``unit``: one that `eightfold.rtl.verilog.unit_verilog` knows, or another ``verilog`` in its
    place; ``blocks``: the seed whose placement decides where RAM blocks and multipliers are, None:
    each its own. ``rounds``: as in `place_and_route`, on ECP5.
    ``family``: one of `FAMILIES`; ``ecp5`` is placed and routed, Xilinx' too where
    the system has nextpnr-himbaechel-xilinx on ``PATH``, the others get area figures, and so do all
    without ``route``. ``stage`` is told when a step begins. Raises InputError if the unit, family
    or speed grade is unknown, no seed is given, a tool is missing, or the unit does not fit the
    device.
    """
    device = Device.load(family)
    routed = route and has_tool(device.router)
    if routed and device.speeds and speed not in device.speeds:
        grades = ", ".join(map(str, device.speeds))
        raise InputError(f"speed grade of {device.name} must be one of {grades}, not {speed}")
    if routed and not seeds:
        raise InputError("at least one seed is needed")
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
        timing: dict[int, Timing] = {}
        if routed:
            device = device.for_unit(area_of(area["cells"], family).lut4_equivalents)
            jobs = [PlaceAndRoute(device, folder, speed, seed, blocks) for seed in seeds]
            key = digest_of(netlist_key, tools[1])
            for number, job in enumerate(jobs, start=1):
                here = f"seed {number} of {len(jobs)}"
                timing[job.seed] = place_and_route(
                    job, key, lambda words, here=here: stage(f"{here}, {words}"), rounds
                )
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
