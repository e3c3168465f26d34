"""A board's bitstream: its SoC through Yosys, the project's netlist rules, nextpnr and ecppack."""

import hashlib
import json
import logging
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from eightfold.boards.soc import HostedSoC, elaborate, without_comments
from eightfold.boards.targets import Target, target_of
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.files import write_file
from eightfold.common.line import BAUD
from eightfold.rtl.verilog import unit_verilog
from eightfold.synth.area import Area, area_of, cells_of
from eightfold.synth.netlist import top_module
from eightfold.synth.report import timing_of
from eightfold.synth.rewrite import rewrite
from eightfold.synth.tools import Stage, Tool, digest_of, find_tool, kept, own_steps, run_tool
from eightfold.target.config import AcceleratorConfig

TOP = "board"
"""The top module, and what the files of a build are called."""

_ATTRIBUTES = 'attrmap -tocase keep -imap keep="true" keep=1'
"""LiteX writes the attribute as the vendors' tools read it."""


@dataclass(frozen=True, kw_only=True)
class Bitstream:
    """What a build has made, and of what; the file beside the bitstream has the same as JSON."""

    board: str
    device: str
    config: str
    memory: str
    baud: int
    target_mhz: float
    mhz: float
    """Highest clock of ``sys``, register to register."""

    path: str
    """The path that limits it."""

    area: Area
    seconds: dict[str, float]
    """Of synthesis, and of place and route, when they ran."""

    seed: int
    tools: tuple[str, ...]
    """Names and versions; a native nextpnr is called so."""

    warnings: tuple[str, ...]
    verilog: str
    """SHA-256 of the SoC's sources."""

    sha256: str
    """Of the bitstream."""

    @property
    def lines(self) -> Iterator[str]:
        """Yield the figures for people."""
        slack = 1000 / self.target_mhz - 1000 / self.mhz
        sizes = self.area
        yield f"board      {self.board}: {self.device}, {self.config}, {self.memory}"
        yield (
            f"clock      {self.mhz:.1f} MHz, needs {self.target_mhz:g}: slack {slack:+.2f} ns of "
            f"{1000 / self.target_mhz:g} (seed {self.seed})"
        )
        yield f"path       {self.path}"
        yield (
            f"area       {sizes.lut4_equivalents:,} LUT4, {sizes.ffs:,} flip-flops, {sizes.dsps} "
            f"multipliers, {sizes.rams} block RAMs"
        )
        yield "time       " + ", ".join(f"{what} {s:.0f} s" for what, s in self.seconds.items())
        yield f"tools      {', '.join(self.tools)}"
        yield f"sources    {self.verilog[:16]}"
        yield f"bitstream  {self.sha256[:16]}"
        yield from (f"warning    {text}" for text in self.warnings)


def write_project(
    name: str, config: AcceleratorConfig, memory: str | None, folder: Path, baud: int = BAUD
) -> Target:
    """Write a board's Verilog, constraints and the script of its vendor's tool into a folder.

    Raises `InputError` if there is no such board or memory.

    ``name``: one of `TARGETS`; ``memory``: one of the board's; None: the first. ``baud``: bits per
    second of the host's line.
    """
    target = target_of(name)
    make_memory = target.memories[target.memory_name(memory)]
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for contents in folder.glob(f"{TOP}_*.init"):
        contents.unlink()  # of another memory
    accelerator = folder / "accelerator.v"
    accelerator.write_text(unit_verilog("accelerator", config), encoding="utf-8")

    def make() -> None:
        platform = target.platform()
        crg = target.crg(platform, target.clock)
        place = make_memory(platform, target.clock)
        soc = HostedSoC(platform, crg, target.clock, place, accelerator, baud)
        soc.finalize()
        platform.build(soc, build_dir=str(folder), build_name=TOP, run=False)

    with _quiet():
        elaborate(make)
    for script in (*folder.glob("*.ys"), *folder.glob("*.tcl")):
        text = script.read_text(encoding="utf-8")
        script.write_text(text.replace(f"{folder}{os.sep}", ""), encoding="utf-8")
    top = folder / f"{TOP}.v"
    top.write_text(without_comments(top.read_text(encoding="utf-8")), encoding="utf-8")
    return target


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what LiteX tells of each SoC."""
    logging.disable(logging.INFO)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def build_bitstream(
    name: str,
    config_name: str | None,
    memory: str | None,
    out: Path,
    *,
    baud: int = BAUD,
    seed: int = 1,
    stage: Stage = lambda words: None,
) -> Bitstream:
    """Make a board's bitstream, and beside it ``.json`` with its figures.

    The folder ``.build`` beside it keeps netlists and logs: a step whose input and tools have not
    changed is not run again. What ecpunpack reads in the bitstream equals what nextpnr has routed.
    Raises `InputError` if an argument is not valid, the vendor's tool is needed, or a tool fails or
    is missing. Raises `HardwareError` if the clock is missed; no bitstream is written then, the
    figures are.

    ``config_name``: a preset or a .toml file; None: the board's preset. ``out``: the bitstream,
    ``.bit``; ``seed``: of the placer; ``stage``: called with a few words when a step begins; the
    others as of `write_project`.
    """
    target = target_of(name)
    if not target.nextpnr:
        raise InputError(
            f"{name}: no free tool makes the bitstream of an {target.device}: give a folder as -o, "
            "which gets Verilog, constraints and the script for the vendor's tool"
        )
    folder = out.with_suffix(".build")
    used = config_name or target.config
    config = AcceleratorConfig.load(used)
    stage("Verilog")
    write_project(name, config, memory, folder, baud)
    sources = sorted([*folder.glob("*.v"), *folder.glob("*.init")])
    digest = digest_of(*(path.read_text("utf-8") for path in sources))
    yosys, nextpnr = find_tool("yosys").version, find_tool("nextpnr_ecp5")
    key = digest_of(digest, yosys, *own_steps())
    netlist = folder / "netlist.json"
    mapped = kept(folder / "area.json", key, lambda: map_board(folder, stage), makes=netlist)
    options = [*target.nextpnr, "--seed", str(seed), *_parallel(nextpnr)]
    key = digest_of(key, nextpnr.version, *options, (folder / f"{TOP}.lpf").read_text("utf-8"))
    packed = folder / f"{TOP}.bit"

    def route_and_pack() -> dict[str, Any]:
        figures = _route(folder, mapped["clock"], nextpnr, options, stage)
        _pack(folder, stage)
        return figures

    routed = kept(folder / "routed.json", key, route_and_pack, makes=packed)
    result = Bitstream(
        board=name,
        device=target.device,
        config=used,
        memory=target.memory_name(memory),
        baud=baud,
        target_mhz=target.clock / 1e6,
        mhz=routed["mhz"],
        path=routed["path"],
        area=area_of(mapped["cells"], "ecp5"),
        seconds={"synthesis": mapped["seconds"], "place and route": routed["seconds"]},
        seed=seed,
        tools=(yosys, nextpnr.version),
        warnings=tuple(dict.fromkeys([*mapped["warnings"], *routed["warnings"]])),
        verilog=digest,
        sha256=hashlib.sha256(packed.read_bytes()).hexdigest(),
    )
    write_file(out.with_suffix(".json"), json.dumps(asdict(result), indent=1) + "\n")
    if result.mhz < result.target_mhz:
        out.unlink(missing_ok=True)
        raise HardwareError(
            f"{name}: routed for {result.mhz:.1f} MHz, needs {result.target_mhz:g}: try --seed, or "
            f"a smaller --config; no bitstream is written"
        )
    shutil.copyfile(packed, out)
    return result


def map_board(folder: Path, stage: Stage = lambda words: None) -> dict[str, Any]:
    """Map what `write_project` has written to ECP5 cells, in ``netlist.json``, as it is routed.

    Return numbers of ``cells`` by type, ``seconds``, ``warnings``, and the name of the ``clock``.
    """
    stage("synthesis")
    begin = time.monotonic()
    script = (
        f"read_verilog accelerator.v {TOP}.v; {_ATTRIBUTES}; synth_ecp5 -top {TOP}; "
        "check -noinit; write_json synthesized.json"
    )
    warnings = run_tool(
        find_tool("yosys"), ["-q", "-p", script], folder=folder, log="yosys.log", stage=stage
    )
    netlist = json.loads((folder / "synthesized.json").read_text(encoding="utf-8"))
    clock = clock_name(netlist)
    rewrite(netlist, clock)
    (folder / "netlist.json").write_text(json.dumps(netlist), encoding="utf-8")
    seconds = round(time.monotonic() - begin, 1)
    found = {"cells": cells_of(netlist), "seconds": seconds, "warnings": warnings}
    return found | {"clock": clock}


def clock_name(netlist: dict[str, Any]) -> str:
    """Return the name of the clock domain ``sys``: of the net that clocks the most flip-flops."""
    top = top_module(netlist)
    clocks = Counter(
        cell["connections"]["CLK"][0]
        for cell in top["cells"].values()
        if cell["type"] == "TRELLIS_FF"
    )
    ((net, _),) = clocks.most_common(1)
    names = [name for name, found in top["netnames"].items() if found["bits"] == [net]]
    return min(names, key=len)


def _parallel(nextpnr: Tool) -> list[str]:
    """Return options that the wheel, a single thread, does not have."""
    return ["--parallel-refine", "--threads", str(os.cpu_count() or 1)] if nextpnr.native else []


def _route(
    folder: Path, name: str, nextpnr: Tool, options: Sequence[str], stage: Stage
) -> dict[str, Any]:
    stage("packing")
    begin = time.monotonic()
    files = ["--json", "netlist.json", "--lpf", f"{TOP}.lpf", "--textcfg", f"{TOP}.config"]
    files += ["--report", "report.json", "--timing-allow-fail"]
    warnings = run_tool(nextpnr, [*options, *files], folder=folder, log="nextpnr.log", stage=stage)
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    (clock,) = [each for each in report["fmax"] if name in each]
    mhz, path = timing_of(report, clock)
    seconds = round(time.monotonic() - begin, 1)
    return {"mhz": round(mhz, 2), "path": path, "seconds": seconds, "warnings": warnings}


def _pack(folder: Path, stage: Stage) -> None:
    """Pack ``board.config`` into ``board.bit``, and hold what is in it against that.

    A setting has several names, and none where it is the default: so what ecpunpack reads in the
    bitstream is packed again, and must set the same bits as what nextpnr has routed.
    """
    stage("packing the bitstream")
    _convert("ecppack", folder, f"{TOP}.config", f"{TOP}.bit", stage)
    _convert("ecpunpack", folder, f"{TOP}.bit", "unpacked.config", stage)
    _convert("ecppack", folder, "unpacked.config", "again.bit", stage)
    packed, again = ((folder / name).read_bytes() for name in (f"{TOP}.bit", "again.bit"))
    if packed != again:
        raise HardwareError(f"{folder / 'unpacked.config'}: the bitstream is not what was routed")


def _convert(tool: str, folder: Path, source: str, target: str, stage: Stage) -> None:
    packs = tool == "ecppack"
    options = ["--compress", "--input", source] if packs else ["--input", source]
    options += ["--bit" if packs else "--textcfg", target]
    run_tool(find_tool(tool), options, folder=folder, stage=stage)
