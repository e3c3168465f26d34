"""A module behind registers: on AXI4-Lite, APB or Wishbone, with or without a memory of its own."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters import registers
from eightfold.conformance.adapters.bits import PortBits, check_range
from eightfold.conformance.adapters.dialects import VERILOG, driven
from eightfold.conformance.adapters.formulas import Formula, check_formula, evaluate
from eightfold.conformance.adapters.registers import (
    Array,
    Bus,
    BusAccess,
    BusProgram,
    Memory,
    MemoryPorts,
    RegisterField,
)
from eightfold.conformance.adapters.rtl import RtlAdapter
from eightfold.conformance.answers import MISSING, UNKNOWN, Columns, UnitAnswers
from eightfold.conformance.units.unit import Column


class MemoryMappedAdapter(RtlAdapter):
    """A module whose registers are written, which is started, and whose registers have the answer.

    A subclass names the bus and the registers. docs/conformance.md has an example, and one that
    fetches many cases at a time from memory. Where lists are in windows of registers, four numbers
    in a word::

            writes = {Array(0x100, bits=8): "inputs", Array(0x200, bits=8): "weights", 0x10: "bias"}

    See `eightfold.conformance.adapters.rtl.RtlAdapter` for files, parameters, clock and reset;
    ``patience`` is that for an access to be answered, and for ``done``.
    """

    testcase = "accesses"
    bus: str = "axi4-lite"
    """``"axi4-lite"``, ``"apb"`` or ``"wishbone"`` (classic cycles)."""
    prefix: str | None = None
    """What the names of its ports begin with; by default ``s_axi_``, nothing, and ``wb_``. Case
    does not count. What follows is the specification's name: ``awvalid``, ``psel``, ``cyc_i``."""
    ports: ClassVar[Mapping[str, str]] = {}
    """Ports that are called otherwise, by the specification's name."""
    inputs: ClassVar[Mapping[str, int]] = {}
    """Numbers for the module's other inputs."""
    address_step: int | None = None
    """From a register's address to the next one's; by default a word's bytes."""
    setup: ClassVar[Mapping[int, int]] = {}
    """Values by address, written once after reset."""
    writes: ClassVar[Mapping[int | Array, Formula]] = {}
    """Formulas (`eightfold.conformance.adapters.formulas`) by address, or by an `Array` of
    registers, written for each run in this order. ``count`` is the number of cases in the run."""
    start: tuple[int, int] | None = None
    """An address and a value, written after these; None: the writes are enough."""
    done: tuple[int, int] | tuple[int, int, int] | None = None
    """An address, bits, and what they have to become, by default all 1; read until they are. None:
    the result is there at once, or after ``wait`` cycles."""
    acknowledge: tuple[int, int] | None = None
    """An address and a value, written when the results have been read; or None."""
    results: ClassVar[Mapping[str, int | str | Array]] = {}
    """Addresses by column of the unit's results: ``0x20``, ``"0x20[7:0]"``, or an `Array`. A signed
    column's number has its sign in the highest of these bits."""
    memory: Memory | None = None
    """A `Memory` that the module is master of, or None."""
    batch: int = 1
    """Cases of a run. More than one needs results in memory."""
    wait: int = 0
    """Cycles between the start and the first read."""
    pauses: float = 0.3
    """Probability that the master hesitates in a cycle: before an access, and on each channel of
    AXI4-Lite; in every other 256 cycles."""

    def modules(self) -> tuple[Path, ...]:
        from eightfold.sim.simulator.system import FOLDER

        is_axi = self.memory is not None and self.memory.port == "axi4"
        return (FOLDER / "axi_memory.v",) if is_axi else ()

    def harness(self) -> tuple[str, str]:
        self._check()
        if self.is_vhdl:
            raise InputError(f"{self.name}.sources: VHDL behind a bus; name Verilog, or a stream")
        bus, found = self._bus, self._signals
        registers = {name: f"m_{name}" if name in bus.driven else f"s_{name}" for name in bus.ports}
        connections = {
            port: f"m_{name}" if name in bus.driven else f"out_{name}"
            for name, port in found.items()
        }
        wires = [
            VERILOG.wire(f"out_{name}", self._bits(name)) for name in found if name in bus.answered
        ]
        widths, sources = self._constants
        fed, constants = driven(widths, sources)
        connections |= {port: f"to_{port}" for port in widths}
        for name, port in self._memory_ports.items():
            wires.append(VERILOG.wire(f"mem_{name}", self._ports[port].width or 0))
            connections[port] = f"mem_{name}"
        declared, assigned, instance = self.instance(connections)
        text = VERILOG.template(
            "memory_mapped",
            top=self.top,
            data=self._data,
            address=self._bits(bus.address),
            registers="\n".join(
                f"  reg [{self._bits(name) - 1}:0] {register};"
                for name, register in registers.items()
            ),
            bus=VERILOG.template(self.bus),
            wires="\n".join([*wires, *fed, *constants, *declared, *assigned]),
            instance=instance,
            memory=self._memory_text(),
            initial="\n".join(f"    {register} = 0;" for register in registers.values()),
            samples="\n".join(
                f"    s_{name} = {f'out_{name}' if name in found else bus.optional[name]};"
                for name in bus.answered
            ),
        )
        return "eightfold_memory_mapped", text

    def answer(
        self, cases: Columns, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        """Return the module's answers; see `UnitAdapter.answer`.

        A bus that does not answer, and a bit that does not come, end the simulation: what is left
        is missing.
        """
        count = self.check_cases(cases)
        self.designs()  # which says what is wrong
        program = self._program(cases, count)
        with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
            folder = Path(name)
            program.write(folder / "program.hex")
            self._write_images(folder, cases, count, seed)
            words = self.memory.size * 8 // self._memory_bits if self.memory else 0
            job = {"folder": name, "total": program.lines, "memory_words": words}
            files = (folder / each for each in ("program.hex", "results.hex"))
            report, failed = self.simulated(simulator, job, files, seed=seed, trace=trace)
            results = self._read(folder, count)
        return UnitAnswers(
            results=results, note=failed or self._note(report, program), crashed=bool(failed)
        )

    # What is on the bus.

    @cached_property
    def _bus(self) -> Bus:
        if self.bus not in registers.BUSES:
            raise InputError(
                f"{self.name}.bus: one of {', '.join(registers.BUSES)}, not {self.bus!r}"
            )
        return registers.BUSES[self.bus]

    def _found(
        self, what: str, kind: str, of: Bus | MemoryPorts, named: Mapping[str, str], prefix: str
    ) -> dict[str, str]:
        """Return the module's ports by the names of a specification, whatever case they are in."""
        if unknown := sorted(set(named) - set(of.drives)):
            known = f"{kind} has no {', '.join(unknown)}; it has {', '.join(of.drives)}"
            raise InputError(f"{self.name}.{what}: {known}")
        ports = {port.lower(): port for port in reversed([*self._ports])}
        found = dict[str, str]()
        for name, is_driven in of.drives.items():
            port = named.get(name) or ports.get((prefix + name).lower())
            if port is None and name in of.needed:
                port = prefix + name  # which is told to be missing
            if port is not None:
                where = "ports" if what == "ports" else f"{what}.ports"
                self.width(f"{where}[{name!r}]", port, is_input=not is_driven)
                found[name] = port
        return found

    @cached_property
    def _signals(self) -> dict[str, str]:
        prefix = self._bus.prefix if self.prefix is None else self.prefix
        return self._found("ports", self.bus, self._bus, self.ports, prefix)

    @cached_property
    def _data(self) -> int:
        name = self._bus.data
        width = self.width(f"ports[{name!r}]", self._signals[name], is_input=True)
        if not 8 <= width <= 64:
            raise InputError(f"{self.name}: {self._signals[name]} has {width} bits; 8 to 64 do")
        return width

    def _bits(self, name: str) -> int:
        """Return the width of a port of the bus, by its name there."""
        width = self._bus.ports[name]
        if width == "DATA":
            return self._data
        if width == "ADDRESS":
            address = self._bus.address
            return self.width(f"ports[{address!r}]", self._signals[address], is_input=True)
        return -(-self._data // 8) if width == "BYTES" else int(width)

    @property
    def _step(self) -> int:
        return self._data // 8 if self.address_step is None else self.address_step

    @cached_property
    def _constants(self) -> tuple[dict[str, int], list[tuple[PortBits, int, int, str]]]:
        """The widths of ports that have constants, and these as `driven` takes them."""
        widths, sources = dict[str, int](), []
        for text, value in self.inputs.items():
            place = PortBits.parse(f"{self.name}.inputs", text)
            what = f"{self.name}.inputs[{str(place)!r}]"
            if type(value) is not int:
                raise InputError(f"{what}: a number, not {value!r}; columns are for registers")
            widths[place.port] = self.width("inputs", place.port, is_input=True)
            low, bits = place.within(what, widths[place.port])
            check_range(what, np.array([value], object), bits)
            sources.append((place, low, bits, VERILOG.constant(bits, value & ((1 << bits) - 1))))
        return widths, sources

    def _check(self) -> None:
        self.check_clock()
        memory = self.memory.results if self.memory else {}
        columns = {column.name for column in self.kind.results}
        if set(self.results) | set(memory) != columns or set(self.results) & set(memory):
            needed = f"the results of {self.unit}: {', '.join(sorted(columns))}"
            raise InputError(f"{self.name}.results: must have, once each, {needed}")
        if type(self.batch) is not int or self.batch < 1 or (self.batch > 1 and self.results):
            raise InputError(
                f"{self.name}.batch: {self.batch!r}; more than 1 needs all results in memory"
            )
        for place, formula in self.writes.items():
            if not isinstance(place, int | Array):
                raise InputError(f"{self.name}.writes: {place!r} is no address; use 0x10 or Array")
            check_formula(f"{self.name}.writes[{place!r}]", formula)
        if self.start is None and not self.writes and not self.memory:
            raise InputError(f"{self.name}: writes nothing")
        _ = self._fields
        widest = 1 << self._bits(self._bus.address)
        for address in self._addresses():
            if not 0 <= address < widest:
                port = self._signals[self._bus.address]
                raise InputError(f"{self.name}: {port} has no address {address:#x}")
        ports = (*self._signals.values(), *self._memory_ports.values())
        inputs = {port for port in ports if self._ports[port].is_input}
        self.check_fed(inputs | self._constants[0].keys())

    def _addresses(self) -> Iterator[int]:
        yield from self.setup
        yield from (place if isinstance(place, int) else place.address for place in self.writes)
        for pair in (self.start, self.done, self.acknowledge):
            if pair is not None:
                yield pair[0]
        yield from (field.address for fields in self._fields.values() for field in fields)

    # What is written, and what is read.

    @cached_property
    def _fields(self) -> dict[str, list[RegisterField]]:
        """Where the results in registers are, by column."""
        found = {}
        for column in self.kind.results:
            if column.name not in self.results:
                continue
            what = f"{self.name}.results[{column.name!r}]"
            place = self.results[column.name]
            if isinstance(place, Array):
                fields = registers.array_fields(what, place, column.length, self._data, self._step)
            elif column.length == 1:
                fields = [registers.parse_register(what, place, self._data)]
            else:
                raise InputError(f"{what}: a list of {column.length} needs an Array of registers")
            found[column.name] = fields
        return found

    @cached_property
    def _reads(self) -> list[int]:
        fields = (field for fields in self._fields.values() for field in fields)
        return list(dict.fromkeys(field.address for field in fields))

    def _program(self, cases: Columns, count: int) -> BusProgram:
        runs = -(-count // self.batch)
        sizes = np.minimum(self.batch, count - np.arange(runs) * self.batch)
        values = {
            place: self._of_runs(place, formula, cases, sizes)
            for place, formula in self.writes.items()
        }
        barrier = [BusAccess(registers.BARRIER)] if self.memory else []
        writes = registers.each_write(f"{self.name}.writes", values, self._data, self._step)
        each = [*barrier, *writes]
        each += [BusAccess(registers.WRITE, *self._word("start", self.start))] if self.start else []
        each += [BusAccess(registers.WAIT, data=self.wait)] if self.wait else []
        if self.done:
            address, mask = self.done[:2]
            value = self.done[2] if len(self.done) == 3 else mask
            each.append(BusAccess(registers.POLL, address, value, mask))
        each += [BusAccess(registers.READ, address) for address in self._reads]
        if self.acknowledge:
            each.append(BusAccess(registers.WRITE, *self._word("acknowledge", self.acknowledge)))
        words = (self._word("setup", pair) for pair in self.setup.items())
        setup = [BusAccess(registers.WRITE, *word) for word in words]
        return BusProgram(setup, each, barrier, runs)

    def _word(self, what: str, pair: tuple[int, int]) -> tuple[int, int]:
        check_range(f"{self.name}.{what}", np.array([pair[1]], object), self._data)
        return pair

    def _of_runs(
        self, place: int | Array, formula: Formula, cases: Columns, sizes: NDArray[np.int64]
    ) -> NDArray[Any]:
        """Return a formula's values for each run, which has to have one for all its cases."""
        what = f"{self.name}.writes[{place!r}]"
        known = {**cases, "count": np.repeat(sizes, sizes)}
        values = evaluate(what, formula, known)
        starts = np.arange(len(sizes)) * self.batch
        if not isinstance(place, Array) and values.ndim == 2:
            raise InputError(f"{what}: a list needs an Array of registers")
        if self.batch > 1 and np.any(values != np.repeat(values[starts], sizes, axis=0)):
            raise InputError(
                f"{what}: differs from case to case of a run of {self.batch}; put it into memory"
            )
        return values[starts]

    def _read(self, folder: Path, count: int) -> dict[str, NDArray[np.int64]]:
        results = {name: np.full(shape, MISSING) for name, shape in self.shapes(count).items()}
        columns = {column.name: column for column in self.kind.results}
        if self._reads:
            words = registers.read_values(folder / "results.hex", len(self._reads), self._data)
            for name, fields in self._fields.items():
                for index, field in enumerate(fields):
                    word = words[:count, self._reads.index(field.address)]
                    value = registers.field_value(word, field, signed=columns[name].signed)
                    target = results[name]
                    (target if target.ndim == 1 else target[:, index])[: len(value)] = value
        if self.memory:
            for run in range(-(-count // self.batch)):
                dump = folder / f"dump_{run}.hex"
                if not dump.exists():
                    break
                part = slice(run * self.batch, min((run + 1) * self.batch, count))
                for name, place in self.memory.results.items():
                    results[name][part] = self._from_memory(dump, place, columns[name], part)
        return results

    def _from_memory(
        self, dump: Path, place: Array, column: Column, part: slice
    ) -> NDArray[np.int64]:
        assert self.memory is not None
        contents, unknown = registers.read_image(dump)
        octets = self.memory.octets(place, part.stop - part.start, column.length)
        kind = f"<{'i' if column.signed else 'u'}{octets.shape[2]}"
        number = np.asarray(contents[octets], order="C").view(kind)[:, :, 0].astype(np.int64)
        number = np.where(unknown[octets].any(axis=2), UNKNOWN, number)
        return number if column.length > 1 else number[:, 0]

    def _note(self, report: Mapping[str, int], program: BusProgram) -> str:
        notes = []
        if report["stuck"] or report["late"]:
            run, access = program.at(report["line"])
            where = self._where(run)
            if report["stuck"] and access:
                notes.append(f"{access.text()}{where} had no answer within {self.patience} cycles")
            elif access:
                notes.append(
                    f"the register {access.address:#x}{where} was {report['last_value']:#x} after "
                    f"{self.patience} cycles: its bits {access.mask:#x} did not become "
                    f"{int(access.data):#x}"
                )
        if errors := report["errors"]:
            run, access = program.at(report["first_error"])
            what = access.text() if access else "an access"
            first = f"the first was {what}{self._where(run)}"
            notes.append(f"{errors} accesses were answered with an error; {first}")
        if violations := report["violations"]:
            notes.append(
                f"{violations} accesses of its own to memory broke a rule: outside of the memory, "
                "or not as the port's kind demands"
            )
        return "; ".join(notes)

    def _where(self, run: int | None) -> str:
        if run is None:
            return " in the setup"
        return f" in case {run}" if self.batch == 1 else f" in run {run}"

    # The memory.

    @cached_property
    def _memory_ports(self) -> dict[str, str]:
        if (memory := self.memory) is None:
            return {}
        of = registers.PORTS[memory.port]
        return self._found("memory", memory.port, of, memory.ports, memory.prefix)

    @cached_property
    def _memory_bits(self) -> int:
        if self.memory is None:
            return 8
        name = registers.PORTS[self.memory.port].data
        bits = self.width(f"memory.ports[{name!r}]", self._memory_ports[name], is_input=True)
        if bits < 8 or bits & (bits - 1):
            raise InputError(f"{self.name}.memory: {name} has {bits} bits; 8, 16, 32 ... do")
        return bits

    def _memory_text(self) -> str:
        if self.memory is None:
            return "  assign violations = 0;"
        edge = "clk" if self.clock_edge == "rising" else "~clk"
        has = {name: f"mem_{name}" for name in self._memory_ports}
        text = registers.memory_text(self.memory, has, self._memory_bits)
        return f"  wire memory_clk = {edge};\n{text}"

    def _write_images(self, folder: Path, cases: Columns, count: int, seed: int) -> None:
        if self.memory is None:
            return
        values = []
        for place, formula in self.memory.writes.items():
            what = f"{self.name}.memory.writes[{place!r}]"
            numbers = evaluate(what, formula, cases)
            check_range(what, numbers, place.bits)
            values.append((place, numbers if numbers.ndim == 2 else numbers[:, None]))
        rng = np.random.default_rng([seed, 2])
        for run in range(-(-count // self.batch)):
            part = slice(run * self.batch, min((run + 1) * self.batch, count))
            image = self.memory.image(rng, [(place, each[part]) for place, each in values])
            registers.write_image(folder / f"load_{run}.hex", image, self._memory_bits // 8)
