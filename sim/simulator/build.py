"""Simulation models: a component's Verilog, compiled by one of the simulators, built once."""

import logging
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from amaranth.lib import wiring

from eightfold.common.errors import InputError
from eightfold.common.progress import OnProgress, tell
from eightfold.sim.simulator.cache import cached, check_room, content_key
from eightfold.sim.simulator.foreign import Foreign
from eightfold.sim.simulator.simulators import make_runner
from eightfold.sim.simulator.sources import Source, source_of
from eightfold.sim.simulator.toolchain import (
    VHDL_SIMULATORS,
    Simulator,
    check_simulator,
    optimisation,
    simulator_version,
)
from eightfold.sim.simulator.waves import WaveFormat

RECIPE = 2
"""Part of every key: count up when the way models are built changes."""

_LEFT_BY_COMPILERS = (".o", ".cpp", ".h", ".a", ".gch", ".d")
"""The suffixes of files that no simulation needs: nine tenths of a build."""

TIMESCALE = ("1ns", "1ns")

BUILD_ARGS: dict[Simulator, tuple[str, ...]] = {
    # --no-public-flat-rw takes back what cocotb's runner asks for: with every signal public,
    # nothing can be optimised; only the ports are (see `_ports_file`). Warnings are the business
    # of the lint test.
    "verilator": ("--no-public-flat-rw", "-Wno-fatal", "-Wno-lint", "-O3", "--x-assign", "fast"),
    "icarus": (),
    "ghdl": (),
    "nvc": (),
}

_WAVES_IN_KEY: dict[WaveFormat | None, bool | str] = {None: False, "vcd": True, "fst": "fst"}
"""What of `Model.waves` is in the key."""


class BuildFailed(InputError):  # noqa: N818 - reads as what happened
    """A simulator did not accept a design, or its compiler failed: its words, and where its log is.

    An `InputError`, because what fails is a tool of the user's machine.
    """


@dataclass(frozen=True)
class Model:
    """A compiled design, ready to run any number of benches.

    ``directory``: where the simulator's files are. ``waves``: the format of the waves that it can
    record; None: it records none. ``plusargs``: arguments of each of its simulations, such as
    ``+unknown=1``.
    """

    directory: Path
    top: str
    simulator: Simulator
    waves: WaveFormat | None
    plusargs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verilog:
    """Hand-written modules, which may instantiate units.

    - ``top``: the top module's name; its header ends with the first ``);``.
    - ``sources``: files with the modules.
    - ``parameters``: names and values of the top module's parameters; others keep their defaults.
    - ``units``: modules that are instantiated and made when they are asked for, such as each
      `Unit`.
    - ``foreign``: modules of somebody else that are instantiated.
    """

    top: str
    sources: tuple[Path, ...]
    parameters: tuple[tuple[str, int], ...] = ()
    units: tuple[Source, ...] = ()
    foreign: Foreign | None = None


Design = wiring.Component | Callable[[], wiring.Component] | Source | Verilog
"""What can be simulated: a component, a function that makes one, a `Unit`, or Verilog."""


def build_model(
    component: Design,
    simulator: Simulator,
    *,
    waves: WaveFormat | None = None,
    on_progress: OnProgress | None = None,
) -> Model:
    """Compile a component for a simulator, or find it compiled.

    - ``component``: the component, or a function that makes it, such as a `Unit`; or Verilog. The
      top module is called ``eightfold_`` and the unit's name, or the class's name in snake case.
    - ``waves``: build in the recording of waves of this format; slower even when nothing is
      recorded.
    - ``on_progress``: called when Verilog is generated, and when the simulator compiles it.

    Raises InputError if a program is missing; BuildFailed if the simulator rejects the design.
    """
    if _GIVEN and not waves and (given := _GIVEN.get(design_key(component, simulator))):
        return given
    check_simulator(simulator)
    if isinstance(component, Verilog):
        design = component
    else:
        source = source_of(component)
        design = Verilog(source.top, (), units=(source,))
    units = [unit.file(on_progress=on_progress) for unit in design.units]
    sources = (*units, *design.sources)
    texts = {source.name: source.read_text("utf-8") for source in sources}
    key = content_key(
        RECIPE,
        *texts.values(),
        design.parameters,
        simulator_version(simulator),
        BUILD_ARGS[simulator],
        optimisation(),
        _WAVES_IN_KEY[waves],
        *_foreign_key(design),
    )

    def make(folder: Path) -> None:
        for file, text in texts.items():
            (folder / file).write_text(text, encoding="utf-8")
        if waves:
            logging.getLogger(__name__).warning(
                "eightfold: waves take a simulator of their own: %s is compiled for %s a second "
                "time; it is kept for the next trace",
                design.top,
                simulator.capitalize(),
            )
        tell(on_progress, f"compiling {design.top} with {simulator.capitalize()}")
        _compile(folder, texts, design, simulator, waves)
        for path in folder.iterdir():
            if path.suffix in _LEFT_BY_COMPILERS:
                path.unlink()

    directory = cached(simulator, f"{design.top}-{key}", make)
    plusargs = tuple(word for unit in design.units for word in unit.plusargs)
    return Model(directory, design.top, simulator, waves, plusargs)


_GIVEN: dict[str, Model] = {}


def give_model(key: str, model: Model) -> None:
    """Let `build_model` return a model that was built on another machine, by its `design_key`.

    Nothing of what builds models is needed then.
    """
    _GIVEN[key] = model


def design_key(component: Design, simulator: Simulator) -> str:
    """Return a hash of a design and its simulator's name, whatever is installed here."""
    if isinstance(component, Verilog):
        recipes = [[unit.recipe(), *unit.plusargs] for unit in component.units]
        texts = [source.read_text("utf-8") for source in component.sources]
        return content_key(
            simulator, component.top, component.parameters, recipes, texts, *_foreign_key(component)
        )
    source = source_of(component)
    return content_key(simulator, source.top, source.recipe(), source.plusargs)


def _foreign_key(design: Verilog) -> tuple[object, ...]:
    return () if design.foreign is None else (design.foreign.recipe(),)


def _compile(
    folder: Path,
    texts: Mapping[str, str],
    design: Verilog,
    simulator: Simulator,
    waves: WaveFormat | None,
) -> None:
    top = design.top
    foreign = design.foreign or Foreign()
    arguments = design.foreign.arguments(simulator) if design.foreign else ()
    sources = [*foreign.words(), *(folder / file for file in texts)]
    if simulator in VHDL_SIMULATORS:  # which analyse them again for each simulation, in this order
        sources = [
            Path(shutil.copy(source, folder / f"{place:03}_{source.name}"))
            for place, source in enumerate(sources)
        ]
    if simulator == "verilator":
        sources.insert(0, _ports_file(folder, "\n".join(texts.values()), top))
    log = folder / "build.log"
    runner = make_runner(simulator, waves)
    try:
        runner.build(
            sources=sources,
            hdl_toplevel=top,
            parameters=dict(design.parameters),
            defines=dict(foreign.defines),
            includes=foreign.include_words(),
            build_dir=folder,
            build_args=(*BUILD_ARGS[simulator], *arguments),
            timescale=TIMESCALE,
            waves=waves is not None,
            log_file=log,
            always=True,
        )
    except RuntimeError as error:
        check_room(folder)
        words = _cause(log.read_text("utf-8", "replace")) if log.exists() else ""
        raise BuildFailed(f"{simulator} cannot build {top}: {error}: {words}; log: {log}") from None


def _cause(log: str) -> str:
    """Return the first line of a log that tells of an error, or else the last line."""
    lines = log.strip().splitlines() or ["no output"]
    telling = re.compile(r"%error|error[: ]|\bno space\b|not found|killed|\*\*\*", re.IGNORECASE)
    return next((line for line in lines if telling.search(line)), lines[-1]).strip()


def _ports_file(folder: Path, text: str, top: str) -> Path:
    """Write the Verilator configuration that lets benches see the top module's ports."""
    header = re.search(
        rf"^module {re.escape(top)}\s*(?:#\s*\(.*?\)\s*)?\((.*?)\);", text, re.MULTILINE | re.DOTALL
    )
    assert header is not None, f"no module {top} in its own Verilog"
    ports = [re.findall(r"\w+", port.partition("=")[0])[-1] for port in header[1].split(",")]
    lines = [f'public_flat_rw -module "{top}" -var "{port}"' for port in ports]
    path = folder / "ports.vlt"
    path.write_text("\n".join(["`verilator_config", *lines, ""]), encoding="utf-8")
    return path
