"""A module that answers a stream of cases: at once, after a latency, or by valid and ready."""

import re
import tempfile
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters import dialects
from eightfold.conformance.adapters.bits import (
    PortBits,
    check_range,
    element_bits,
    fits,
    read_words,
    write_words,
)
from eightfold.conformance.adapters.formulas import Formula, check_formula, evaluate
from eightfold.conformance.adapters.rtl import RtlAdapter
from eightfold.conformance.answers import Columns, Simulation, UnitAnswers
from eightfold.conformance.tensors import DIGITS, Element
from eightfold.conformance.units.unit import UnitCases
from eightfold.conformance.vectors.manifest import COUNTS

COUNTED = {
    "accepted": "takes",
    "answered": "answers",
    "early": "earlies",
    "late": "lates",
    "unknown_valid": "valids",
    "unknown_ready": "readies",
}
"""What the last line of results in files counts, and the counters' names in VHDL."""

LINGER = 256
"""Cycles after the last answer in which others count as surplus."""


_INDEX = re.compile(r"\d+(?:\s*[-+*]\s*\d+)+")
_NO_CASE = {"": np.zeros(1, np.int64)}


@dataclass(frozen=True)
class _Field:
    """A place that is fed, as `StreamAdapter.inputs` has it.

    ``low`` and ``bits`` are those in the port, ``start`` the lowest bit in a word of the cases;
    ``lane`` is None of what all lanes share.
    """

    text: str
    what: str
    formula: Formula
    lane: int | None
    place: PortBits
    low: int
    bits: int
    start: int

    @property
    def end(self) -> int:
        """The first bit behind it in a word; a number is in none."""
        return self.start + (0 if isinstance(self.formula, int) else self.bits)


class StreamAdapter(RtlAdapter):
    """A module whose ports have a case, and then its answer.

    A subclass names the module's files and ports; nothing else is needed. docs/conformance.md has
    an example. Outputs are sampled just before the clock's edge, and inputs change just after it.
    See `eightfold.conformance.adapters.rtl.RtlAdapter` for files, parameters, clock and reset.
    """

    testcase = "cases"
    inputs: ClassVar[Mapping[str, Formula]] = {}
    """Formulas (`eightfold.conformance.adapters.formulas`) by port, or by some bits of one, such as
    ``"data[31:0]"``; bits without a formula are 0. A number is there all the time, also in reset;
    other bits have no meaning where no case is offered. Element i of a list is in the bits i * w
    and up of its place, whose width is w times the length. Every input of the module is here, or is
    clock, reset or a handshake."""
    outputs: ClassVar[Mapping[str, str]] = {}
    """Ports, or some bits of one, by column of the unit's results. A signed column's number has its
    sign in the highest of these bits; a list has its element 0 in the lowest ones."""
    latency: int | None = None
    """Edges of the clock from the one that takes a case to the one after which its answer is there,
    both counted: 1 for a single register between input and output, 0 for combinational logic."""
    in_valid: str | None = None
    in_ready: str | None = None
    """Ports of the handshake of the cases, each or None. Without ``in_valid`` there is a case in
    every cycle; without ``in_ready`` every case is taken."""
    out_valid: str | None = None
    out_ready: str | None = None
    """Ports of the handshake of the answers, each or None; ``out_valid`` needs ``in_valid``, and
    stands in place of ``latency``."""
    one_at_a_time: bool = False
    """Whether a case has to wait for the answer before it: for a unit that computes for many
    cycles, and is started by ``in_valid`` and has its ``done`` as ``out_valid``. The case stays at
    the ports until then."""
    pauses: float = 0.3
    """Probability that in a cycle no case is offered, and that no answer is taken, if there are
    ports for this. Of every 1024 cycles, 256 are without pauses, 256 with those of the cases, 256
    with those of the answers, and 256 with both."""
    lanes: int = 1
    """Cases that are taken at once, and answered at once. ``{lane}`` in a place is the number of a
    lane, from 0 on, as in ``"acc_{lane}"`` or ``"acc[32*{lane}+31:32*{lane}]"``: each lane has its
    case's numbers there. A place without it is the same for all lanes, and so must be the cases'
    numbers. A result is in a place of each lane."""

    def harness(
        self, dialect: dialects.Dialect | None = None, origin: str | None = None
    ) -> tuple[str, str]:
        """Return the name and the text of the module around theirs.

        ``dialect``: its language; that of their module by default. ``origin``: the line that
        results begin with, in files for `eightfold conform judge`: numbers are as wide as their
        columns then.
        """
        self._check()
        dialect = dialect or (dialects.VHDL if self.is_vhdl else dialects.VERILOG)
        elements, widths = self._results
        ports = (self.in_valid, self.in_ready, self.out_valid, self.out_ready)
        ends = ("in_valid", "hs_in_ready", "hs_out_valid", "out_ready")
        handshakes = {port: wire for port, wire in zip(ports, ends, strict=True) if port}
        wires, assigned = dialects.driven(self._input_widths, self._sources(dialect), dialect)
        wires += [dialect.bit(wire) for wire in handshakes.values() if wire.startswith("hs_")]
        wires += [dialect.wire(f"from_{port}", width) for port, width in widths.items()]
        connections = {port: f"to_{port}" for port in self._input_widths}
        connections |= {port: f"from_{port}" for port in widths}
        declared, more, instance = self.instance(connections | handshakes, dialect)
        bits = None if origin is None else self._column_bits()
        sizes = (4 * each.digits if bits is None else bits[each.column] for each, _ in elements)
        text = dialect.template(
            "stream",
            top=self.top,
            word=8 * -(-self._word_bits // 8),
            result=sum(sizes) // self.lanes,
            lanes=self.lanes,
            latency=self.latency or 0,
            one_at_a_time=int(self.one_at_a_time),
            wires="\n".join([*wires, *declared]),
            assigned="\n".join([*assigned, *more]),
            in_ready="hs_in_ready" if self.in_ready else dialect.high,
            out_valid="hs_out_valid" if self.out_valid else dialect.high,
            came=dialect.came if self.out_valid else dialect.due,
            can_wait=int(self.out_ready is not None),
            can_pause=int(self.in_valid is not None),
            answer=dialects.shown(elements, dialect, bits),
            instance=instance,
            header="" if origin is None else dialect.line(f"// {origin}", {}),
            footer="" if origin is None else dialect.line(f"// {COUNTS}", COUNTED),
        )
        return "eightfold_stream", text

    def _column_bits(self) -> dict[str, int]:
        """Return the bits of a column's number in files."""
        columns = {column.name: column.bits for column in self.kind.results}
        for element, place in self._results[0]:
            bits = columns[element.column]
            if element.width > bits:
                raise InputError(
                    f"{self.name}.outputs[{element.column!r}]: has {element.width} bits, and files "
                    f'{bits}; say which, as in "{place.port}[{bits - 1}:0]"'
                )
        return columns

    def bench_files(self, cases: UnitCases, origin: str, seed: int) -> dict[str, bytes]:
        """Return what a simulator of any maker runs by itself, for cases of the unit.

        ``stimulus.hex`` has what the ports are fed with; ``bench.v``, ``bench.sv`` and
        ``bench.vhd`` read it, drive the module as `answer` does, with the same pauses, and write
        ``results.hex`` for `eightfold conform judge`.

        Raises InputError if something does not fit, as in `answer`.
        """
        with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
            path = Path(name, "stimulus.hex")
            self._check()
            self._write(path, cases.inputs)
            found = {path.name: path.read_bytes()}
        found |= {name: path.read_bytes() for name, path in self.data_files().items()}
        # An array as a port is nothing to a bench in another language.
        arrays = any(port.elements is not None for port in self._ports.values())
        for dialect in (dialects.SYSTEMVERILOG,) if arrays else dialects.DIALECTS:
            _, harness = self.harness(dialect, origin)
            bench = dialect.template(
                "bench",
                seed=seed,
                total=-(-len(cases) // self.lanes),
                count=len(cases),
                pauses=round(256 * self.pauses),
                patience=self.patience,
                linger=LINGER + (self.latency or 0),
                reset_cycles=self.reset_cycles,
            )
            found[f"bench{dialect.suffix}"] = (dialect.head + harness + bench).encode()
        return found

    def answer(
        self, cases: Columns, *, simulator: str, seed: int = 0, trace: Path | None = None
    ) -> UnitAnswers:
        """Return the module's answers; see `UnitAdapter.answer`.

        A simulator that ends early, because the module calls ``$finish`` for example, or does not
        end within ``cpu_seconds``, leaves the rest of the answers missing.
        """
        count = self.check_cases(cases)
        self.designs()  # which says what is wrong
        elements = [element for element, _ in self._results[0]]
        elements = elements[: len(elements) // self.lanes]  # of a line: a lane's
        with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
            words, results = Path(name, "stimulus.hex"), Path(name, "results.hex")
            seen = Path(name, "handshakes.hex")
            self._write(words, cases)
            job = {"total": -(-count // self.lanes), "count": count}
            job["linger"] = LINGER + (self.latency or 0)
            files = (words, results, seen)
            report, failed = self.simulated(simulator, job, files, seed=seed, trace=trace)
            values, answered = read_words(results, elements, self.shapes(count))
            # Words of several lanes are no cases, and their handshakes none of these.
            told = self.out_valid and self.lanes == 1 and seen.exists()
            digits = DIGITS[np.frombuffer(seen.read_bytes() if told else b"", np.uint8)]
        return UnitAnswers(
            results=values,
            extra=report.get("early", 0) + report.get("late", 0),
            note=failed or self._note(report, count, answered),
            crashed=bool(failed),
            simulations=(Simulation(count, digits & np.uint8(15)),),
        )

    def paused(self, pauses: float) -> "StreamAdapter | None":
        if not self.in_valid:
            return None
        other = copy(self)
        other.pauses = pauses
        return other

    def takes(self, cases: Columns) -> NDArray[np.bool_]:
        found = np.ones(self.check_cases(cases), bool)
        for field in self._fields:
            values = evaluate(field.what, field.formula, cases)
            within = fits(values, element_bits(field.what, values, field.bits))
            found &= within.reshape(len(found), -1).all(axis=1)
        return found

    def _note(self, report: Mapping[str, int], count: int, answered: int) -> str:
        notes = []
        if answered < count:
            after = f"after {answered} of {count} answers" if answered else "ever"
            notes.append(f"no answer within {self.patience} cycles, {after}")
            if report["accepted"] == report["answered"] and self.in_ready:
                notes.append(f"{self.in_ready} stayed 0: case {answered} was never taken")
        if early := report["early"]:
            first = f"the first in cycle {report['first_early']}"
            notes.append(f"{early} answers came before they were asked for, {first}: left out")
        if late := report["late"]:
            notes.append(f"{late} answers came after that of the last case")
        for port, what in ((self.out_valid, "unknown_valid"), (self.in_ready, "unknown_ready")):
            if report[what]:
                notes.append(f"{port} was X or Z in {report[what]} cycles, which counts as 0")
        return "; ".join(notes)

    def _write(self, path: Path, cases: Columns) -> None:
        count = len(next(iter(cases.values())))
        words = -(-count // self.lanes)
        # The last case fills what is left of the last word.
        order = np.minimum(np.arange(words * self.lanes), count - 1)
        fields = []
        for field in self._fields:
            if isinstance(field.formula, int):
                continue
            values = evaluate(field.what, field.formula, cases)
            check_range(field.what, values, element_bits(field.what, values, field.bits))
            if field.lane is None and self.lanes > 1:
                self._check_shared(field.what, values[order])
            values = values[order][(field.lane or 0) :: self.lanes]
            fields.append((values, field.start, field.bits))
        write_words(path, fields, self._word_bits, words)

    def _check_shared(self, what: str, values: NDArray[Any]) -> None:
        """Raise `InputError` if cases that are asked at once differ in what all lanes share."""
        groups = values.reshape(-1, self.lanes, *values.shape[1:])
        if len(bad := np.argwhere(groups != groups[:, :1])):
            case = int(bad[0][0]) * self.lanes
            raise InputError(
                f"{what}: all lanes share it, and cases {case} and {case + int(bad[0][1])}, which "
                "are asked at once, differ in it; give each lane its own place, with {lane}, or "
                "limit the profile to one value"
            )

    def _sources(self, dialect: dialects.Dialect) -> Iterator[tuple[PortBits, int, int, str]]:
        """Return places, their lowest bits and bits, and what drives them."""
        for each in self._fields:
            if isinstance(each.formula, int):
                check_range(each.what, np.array([int(each.formula)], object), each.bits)
                source = dialect.constant(each.bits, int(each.formula) & ((1 << each.bits) - 1))
            else:
                source = dialect.part("word", each.end - 1, each.start)
            yield each.place, each.low, each.bits, source

    def _places(self, what: str, text: str) -> list[tuple[int | None, PortBits]]:
        """Return the places of a text: one, or that of each lane."""
        if not isinstance(text, str) or "{lane}" not in text:
            return [(None, PortBits.parse(what, text))]
        found = []
        for lane in range(self.lanes):
            filled = text.replace("{lane}", str(lane))
            parts = _INDEX.sub(lambda part: str(evaluate(what, part[0], _NO_CASE)[0]), filled)
            found.append((lane, PortBits.parse(what, parts)))
        return found

    @cached_property
    def _input_widths(self) -> dict[str, int]:
        return {
            place.port: self.width(f"inputs[{text!r}]", place.port, is_input=True)
            for text in self.inputs
            for _, place in self._places(f"{self.name}.inputs", text)
        }

    @cached_property
    def _fields(self) -> "list[_Field]":
        found = list[_Field]()
        for text, formula in self.inputs.items():
            what = f"{self.name}.inputs[{text!r}]"
            for lane, place in self._places(f"{self.name}.inputs", text):
                low, bits = place.within(what, self._input_widths[place.port])
                for other in (each for each in found if each.place.port == place.port):
                    if low < other.low + other.bits and other.low < low + bits:
                        raise InputError(f"{what}: has bits of {other.text!r} too")
                start = found[-1].end if found else 0
                found.append(_Field(text, what, formula, lane, place, low, bits, start))
        return found

    @property
    def _word_bits(self) -> int:
        return max(self._fields[-1].end, 1)

    @cached_property
    def _results(self) -> tuple[list[tuple[Element, PortBits]], dict[str, int]]:
        """The numbers of an answer with their places, those of the first lane first, and the
        widths of the ports they are in."""
        elements = []
        for lane in range(self.lanes):
            outputs = dict(self.outputs)
            for name, text in self.outputs.items():
                places = self._places(f"{self.name}.outputs[{name!r}]", text)
                if self.lanes > 1 and len(places) == 1:
                    raise InputError(
                        f"{self.name}.outputs[{name!r}]: {text!r} is the same for {self.lanes} "
                        'lanes; say where each has its own, as in "q[8*{lane}+7:8*{lane}]"'
                    )
                outputs[name] = str(places[lane][1])
            elements += self.result_elements(outputs)
        ports = {place.port for _, place in elements}
        return elements, {
            port: self.width("outputs", port, is_input=False) for port in sorted(ports)
        }

    def _check(self) -> None:
        self.check_clock()
        if type(self.lanes) is not int or self.lanes < 1:
            raise InputError(f"{self.name}.lanes: 1 or more, not {self.lanes!r}")
        for text, formula in self.inputs.items():
            check_formula(f"{self.name}.inputs[{text!r}]", formula)
        self.check_bits(in_valid=True, in_ready=False, out_valid=False, out_ready=True)
        self._check_timing()
        if not self.inputs:
            raise InputError(f"{self.name}.inputs: names no port")
        handshakes = {port for port in (self.in_valid, self.out_ready) if port}
        if twice := sorted(handshakes & self._input_widths.keys()):
            raise InputError(f"{self.name}.inputs: {', '.join(twice)} is of a handshake")
        self.check_fed({*self._input_widths, *handshakes})

    def _check_timing(self) -> None:
        if self.out_valid and self.latency is not None:
            raise InputError(f"{self.name}: has latency and out_valid; name the one that counts")
        if self.out_valid and not self.in_valid:
            raise InputError(
                f"{self.name}.out_valid: without in_valid nobody can say which case an answer is "
                "for; name in_valid, or latency in place of out_valid"
            )
        if self.out_ready and not self.out_valid:
            raise InputError(f"{self.name}.out_ready: needs out_valid")
        if self.latency is not None and (type(self.latency) is not int or self.latency < 0):
            raise InputError(f"{self.name}.latency: 0 or more cycles, not {self.latency!r}")
        if self.latency is None and not self.out_valid:
            raise InputError(
                f"{self.name}: says nothing of when answers come; name latency (0 if it is "
                "combinational) or out_valid"
            )
        if self.latency and not self.clock:
            raise InputError(f"{self.name}.latency: needs a clock")
