"""What adapters of RTL have in common: sources, clock and reset, and the ports that they name.

Around the module comes a *harness*, Verilog that is written for it: it feeds the ports from a file
of cases and writes another with the results, so that no Python runs in a cycle.
"""

import sys
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from inspect import signature
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, ClassVar

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.adapter import UnitAdapter, imported, raised
from eightfold.conformance.adapters.bits import PortBits
from eightfold.conformance.adapters.dialects import VERILOG, Dialect
from eightfold.conformance.answers import Columns
from eightfold.conformance.tensors import Element
from eightfold.conformance.units.registry import UNIT_KINDS
from eightfold.conformance.units.unit import UnitKind

if TYPE_CHECKING:  # loads a simulator's toolchain
    from amaranth.lib.wiring import Component

    from eightfold.sim.simulator.build import Design
    from eightfold.sim.simulator.foreign import Foreign, Module, Port

BENCH = "eightfold.sim.benches.foreign"


class RtlAdapter(UnitAdapter):
    """A module in Verilog, SystemVerilog, VHDL or Amaranth, in a simulator."""

    sources: Sequence[str | Path] = ()
    """Files in the order in which they are compiled; paths are relative to the adapter's file."""
    include_dirs: Sequence[str | Path] = ()
    """Folders for ``\\`include``; those of the sources are known."""
    defines: ClassVar[Mapping[str, str | int]] = {}
    """Macros by name."""
    systemverilog: bool = True
    """Whether files that are not called ``.sv`` are SystemVerilog too. False reads them as
    Verilog-2005, in which words such as ``before`` or ``bit`` are names."""
    files: Sequence[str | Path] = ()
    """Files that the module reads in simulation, by ``$readmemh`` for example: they are in the
    simulator's working directory, under their own names."""
    component: str = ""
    """In place of sources, a class of Amaranth's, an `amaranth.lib.wiring.Component`:
    ``"file.py:Class"``, the file relative to the adapter's, or ``"package.module:Class"``. It is
    made with ``arguments``, and converted to Verilog: its ports are those of Amaranth's netlist,
    such as ``i__payload``, and its clock and reset ``clk`` and ``rst``."""
    arguments: ClassVar[Mapping[str, Any]] = {}
    """What it is made with, by name."""
    top: str = ""
    """The module's name; of a component that of its class, if nothing else is said."""
    parameters: ClassVar[Mapping[str, str | int]] = {}
    """Of the module, by name: numbers, or texts for strings."""
    clock: str | None = "clk"
    """Its port; None if it has no clock. Its rising edge counts, unless ``clock_edge`` is
    ``"falling"``."""
    clock_edge: str = "rising"
    reset: str | None = None
    """Its port, or None; ``reset_active`` is its value in reset, 1 or 0, and ``reset_cycles`` how
    long that lasts."""
    reset_active: int = 1
    reset_cycles: int = 10
    patience: int = 10_000
    """Cycles without an answer after which no more is waited for."""
    cpu_seconds: int = 3600
    """CPU time after which a simulation is ended, whatever it does."""
    pauses: float = 0.3
    """Probability of a pause in a cycle."""
    testcase: ClassVar[str]
    """The test of `BENCH` around the harness."""
    _file: ClassVar[str | None] = None

    def __init_subclass__(cls, **options: Any) -> None:
        """Note the file that a class is in: a file that was run is no module that knows it."""
        super().__init_subclass__(**options)
        cls.top = cls.top or cls.component.rpartition(":")[2]
        frame = sys._getframe(1)
        while frame and frame.f_globals.get("__name__") != cls.__module__:  # of metaclasses
            frame = frame.f_back
        cls._file = frame.f_globals.get("__file__") if frame else None

    @property
    def simulators(self) -> Sequence[str]:
        """Those of its language; of VHDL's GHDL first, if it is not NVC alone that is here."""
        if not self.is_vhdl:
            return super().simulators
        return ("nvc", "ghdl") if which("nvc") and not which("ghdl") else ("ghdl", "nvc")

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def designs(self) -> "Sequence[Design]":
        """Return the harness with the module in it. Raises InputError if a file, the module or a
        port does not exist, or something else does not fit."""
        return (self._design,)

    @cached_property
    def _design(self) -> "Design":
        from eightfold.sim.simulator.build import Verilog
        from eightfold.sim.simulator.cache import cached, content_key

        top, text = self.harness()
        file = f"{top}{'.vhd' if self.is_vhdl else '.v'}"

        def make(folder: Path) -> None:
            (folder / file).write_text(text, encoding="utf-8")

        folder = cached("harness", f"{top}-{content_key(text)}", make)
        return Verilog(top, (*self.modules(), folder / file), foreign=self._whole)

    def made_of(self) -> Iterable[Path]:
        """Return its sources, all that is read with them, and `files`."""
        if self.component:
            file = sys.modules[self._class.__module__].__file__
            return (*([Path(file).resolve()] if file else []), *self.data_files().values())
        return (*self._whole.texts(), *self.data_files().values())

    def modules(self) -> tuple[Path, ...]:
        """Return further files of ours that the harness instantiates."""
        return ()

    @abstractmethod
    def harness(self) -> tuple[str, str]:
        """Return the name and the text of the module around theirs."""

    @property
    def kind(self) -> UnitKind:
        """The unit's columns. Raises InputError if there is no such unit."""
        if self.unit not in UNIT_KINDS:
            units = ", ".join(UNIT_KINDS)
            raise InputError(f"{self.name}.unit: no unit {self.unit!r}; use {units}")
        return UNIT_KINDS[self.unit]

    def folder(self, what: str) -> Path:
        """Return the folder that relative paths of an attribute start from: of the file with the
        class that has it."""
        owner = next((each for each in type(self).__mro__ if what in vars(each)), type(self))
        file = vars(owner).get("_file")
        return Path(file).resolve().parent if file else Path.cwd()

    def path(self, what: str, given: str | Path, *, is_folder: bool = False) -> Path:
        """Return a path that somebody has given, relative to the adapter's file. Raises InputError
        if it does not exist; the message names what does."""
        path = self.folder(what) / given
        if path.is_dir() if is_folder else path.is_file():
            return path.resolve()
        beside = path.parent
        ends = () if is_folder else tuple({path.suffix, ".v", ".sv", ".vhd"} - {""})
        there = sorted(
            each.name
            for each in (beside.iterdir() if beside.is_dir() else ())
            if (each.is_dir() if is_folder else each.name.endswith(ends))
        )
        kind = "folder" if is_folder else "file"
        if not beside.is_dir():
            found = f"there is no folder {beside}"
        elif not there:
            found = f"{beside} has none"
        else:
            found = f"{beside} has {', '.join(there[:12])}{', ...' if there[12:] else ''}"
        raise InputError(f"{self.name}.{what}: no {kind} {str(given)!r}; {found}")

    @cached_property
    def _foreign(self) -> "Foreign":
        from eightfold.sim.simulator.foreign import Foreign

        for what in ("sources", "include_dirs", "files"):
            if isinstance(getattr(self, what), str | Path):
                raise InputError(f"{self.name}.{what}: must be a list of paths")
        if self.component:
            from eightfold.sim.simulator.sources import source_of

            return Foreign((source_of(self._made(), self.top).file(),))
        if not self.sources or not self.top:
            raise InputError(f"{self.name}: names no {'top' if self.sources else 'sources'}")
        return Foreign(
            tuple(self.path("sources", each) for each in self.sources),
            tuple(self.path("include_dirs", each, is_folder=True) for each in self.include_dirs),
            tuple(self.defines.items()),
            self.systemverilog,
        )

    def _made(self) -> "Component":
        kind = self._class
        try:
            signature(kind).bind(**self.arguments)
            return kind(**self.arguments)
        except Exception as error:
            why = raised(error, self.component.rpartition(":")[0])
            raise InputError(f"{self.name}.component: cannot be made: {why}") from None

    @cached_property
    def _class(self) -> "type[Component]":
        from amaranth.lib.wiring import Component

        what = f"{self.name}.component"
        place, colon, name = self.component.rpartition(":")
        if not colon:
            raise InputError(f"{what}: {self.component!r}; name a class, as in file.py:Class")
        if place.endswith(".py"):
            module = imported(self.path("component", place), what)
        else:
            try:
                module = import_module(place)
            except ImportError as error:
                raise InputError(f"{what}: {error}; name a file.py, or a module") from None
        kind = getattr(module, name, None)
        if not isinstance(kind, type) or not issubclass(kind, Component):
            raise InputError(f"{what}: {name} is no amaranth.lib.wiring.Component in {place}")
        return kind

    @property
    def _whole(self) -> "Foreign":
        """The sources, and what is read with them."""
        return replace(self._foreign, others=self._module.files)

    @cached_property
    def _module(self) -> "Module":
        from eightfold.sim.simulator.foreign import read_entity, read_module

        read = read_entity if self.is_vhdl else read_module
        try:
            return read(self._foreign, self.top, self.parameters)
        except InputError as error:
            raise InputError(f"{self.name}.top: {error}") from None

    @cached_property
    def is_vhdl(self) -> bool:
        """Whether the sources are VHDL. Raises InputError if some are, and others are not."""
        from eightfold.sim.simulator.foreign import is_vhdl

        found = {is_vhdl(path) for path in self._foreign.sources}
        if len(found) > 1:
            raise InputError(
                f"{self.name}.sources: VHDL and Verilog; name those of one language, and write "
                "files for a simulator of both: eightfold vectors --adapter"
            )
        return True in found

    @property
    def _ports(self) -> "Mapping[str, Port]":
        return self._module.ports

    def width(self, what: str, port: str, *, is_input: bool) -> int:
        """Return the bits of a port. Raises InputError if the module has none of this name and
        direction."""
        way, other = ("input", "output") if is_input else ("output", "input")
        found = self._ports.get(port)
        if found is None or found.is_input != is_input:
            others = (each for each in self._ports.values() if each.is_input == is_input)
            there = ", ".join(each.name for each in others)
            is_other = f"port {port} is an {other} of {self.top}"
            head = is_other if found else f"{self.top} has no port {port!r}"
            raise InputError(f"{self.name}.{what}: {head}; its {way}s are {there or 'none'}")
        if found.width is None:
            raise InputError(
                f"{self.name}.{what}: port {port} is no vector of bits; put a module around "
                f"{self.top} that has one"
            )
        return found.width

    def check_clock(self) -> None:
        """Raise `InputError` if what concerns clock, reset and pauses is wrong."""
        self.check_bits(clock=True, reset=True)
        if self.clock_edge not in ("rising", "falling"):
            raise InputError(
                f"{self.name}.clock_edge: 'rising' or 'falling', not {self.clock_edge!r}"
            )
        if self.reset_active not in (0, 1):
            raise InputError(f"{self.name}.reset_active: 1 or 0, not {self.reset_active!r}")
        if not 0 <= self.pauses < 1:
            raise InputError(f"{self.name}.pauses: 0 to below 1, not {self.pauses!r}")

    def check_bits(self, **inputs: bool) -> None:
        """Raise `InputError` if a port of an attribute is none of one bit, or not an input or an
        output as it should be."""
        for what, is_input in inputs.items():
            port = getattr(self, what)
            if port is not None and self.width(what, port, is_input=is_input) != 1:
                raise InputError(f"{self.name}.{what}: {port} has more than one bit")

    def check_fed(self, fed: set[str]) -> None:
        """Raise `InputError` if an input of the module would be left open."""
        own = {port for port in (self.clock, self.reset) if port}
        if twice := sorted(fed & own):
            raise InputError(f"{self.name}.inputs: {', '.join(twice)} is clock or reset")
        fed = fed | own
        ports = self._ports.values()
        if left := [port.name for port in ports if port.is_input and port.name not in fed]:
            raise InputError(
                f"{self.name}: nothing feeds {', '.join(left)} of {self.top}; give each a formula "
                'or a constant in inputs, such as {"%s": 0}' % left[0]
            )

    def instance(
        self, connections: Mapping[str, str], dialect: Dialect = VERILOG
    ) -> tuple[list[str], list[str], str]:
        """Return declarations, statements, and the instance of their module, with clock and
        reset."""
        ends, declared, assigned = dict(connections), list[str](), list[str]()
        for port, wire, is_same in (
            (self.clock, "clk", self.clock_edge == "rising"),
            (self.reset, "reset", self.reset_active),
        ):
            if port:
                ends[port] = wire if is_same else f"not_{wire}"
            if port and not is_same:
                declared.append(dialect.bit(f"not_{wire}"))
                assigned.append(dialect.assign(f"not_{wire}", f"{dialect.inverse}{wire}"))
        more, instance = dialect.instance(self.top, self.parameters, self._ports, ends)
        return [*declared, *more], assigned, instance

    def result_elements(self, outputs: Mapping[str, str]) -> "list[tuple[Element, PortBits]]":
        """Return where each number of the results is, of columns in places of ports. Raises
        InputError if a column is missing, is none, or its place does not fit."""
        columns = {column.name: column for column in self.kind.results}
        for name in (*columns, *outputs):
            if (name in columns) != (name in outputs):
                wanted = f"the results of {self.unit}, {', '.join(columns)}"
                given = ", ".join(outputs) or "none"
                raise InputError(f"{self.name}.outputs: must have {wanted}, not {given}")
        found = []
        for name, column in columns.items():
            what = f"{self.name}.outputs[{name!r}]"
            place = PortBits.parse(what, outputs[name])
            width = self.width(f"outputs[{name!r}]", place.port, is_input=False)
            low, bits = place.within(what, width)
            each, rest = divmod(bits, column.length)
            if rest or not 1 <= each <= 64:
                raise InputError(
                    f"{what}: {place} has {bits} bits for {column.length} of {column.bits} bits; "
                    f'say which, as in "{place.port}[{column.width - 1}:0]"'
                )
            for index in range(column.length):
                start = low + index * each
                part = PortBits(place.port, start + each - 1, start)
                found.append((Element(name, index, each, column.signed), part))
        return found

    def shapes(self, count: int) -> dict[str, tuple[int, ...]]:
        return {column.name: column.shape(count) for column in self.kind.results}

    def check_cases(self, cases: Columns) -> int:
        """Return how many cases there are; raise `InputError` if a column is missing."""
        if missing := [each.name for each in self.kind.inputs if each.name not in cases]:
            raise InputError(f"{self.name}: the cases lack {', '.join(missing)}")
        return len(next(iter(cases.values())))

    def simulated(
        self,
        simulator: str,
        parameters: dict[str, Any],
        files: Iterable[Path],
        *,
        seed: int,
        trace: Path | None,
    ) -> tuple[dict[str, Any], str]:
        """Run `BENCH` around the module; ``files`` are for the simulator's directory.

        Returns what the bench reports, nothing if the simulation has failed; and then in a line
        why.
        """
        from eightfold.sim.simulator.runner import BenchFailed, run_bench
        from eightfold.sim.simulator.toolchain import checked_simulator

        parameters = parameters | {"pauses": round(256 * self.pauses), "patience": self.patience}
        try:
            ran = run_bench(
                self.designs()[0],
                BENCH,
                checked_simulator(simulator),
                parameters=parameters | {"reset_cycles": self.reset_cycles},
                seed=seed,
                testcase=self.testcase,
                trace=trace,
                files=self.data_files() | {path.name: path for path in files},
                cpu_seconds=self.cpu_seconds,
            )
        except BenchFailed as error:
            text = str(error).splitlines()[0]
            if "prematurely" in text or "ended early" in text:
                text = "the simulation ended early: by $finish, or by an error in the module"
            return {}, text
        return ran.report, ""

    def data_files(self) -> dict[str, Path]:
        return {path.name: path for path in (self.path("files", each) for each in self.files)}
