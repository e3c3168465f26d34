"""A module that answers a stream of cases: at once, after a latency, or by valid and ready."""

import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.bits import (
    Element,
    PortBits,
    check_range,
    element_bits,
    read_words,
    write_words,
)
from eightfold.conformance.adapters.formulas import Formula, check_formula, evaluate
from eightfold.conformance.adapters.rtl import RtlAdapter, driven, failure_note, shown, template
from eightfold.conformance.answers import UnitAnswers

BENCH = "eightfold.sim.benches.foreign_stream"

LINGER = 256
"""Cycles after the last answer in which others count as surplus."""


class StreamAdapter(RtlAdapter):
    """A module whose ports have a case, and then its answer.

    A subclass names the module's files and ports; nothing else is needed::

        class Mine(StreamAdapter):
            unit = "requantizer"
            sources = ["rtl/requantize.sv", "rtl/rounding.sv"]
            top = "requantize"
            clock = "clk"
            reset, reset_active = "rst_n", 0
            latency = 3
            inputs = {
                "acc": "accumulator",
                "mult": "multiplier",
                "right_shift": "max(-shift, 0)",
                "left_shift": "max(shift, 0)",
                "zp": "zero_point",
                "act_min": "low",
                "act_max": "high",
                "enable": 1,
            }
            outputs = {"result": "q"}

    and with handshakes, all in one word::

        class Packed(StreamAdapter):
            sources = ["requantize_axis.v"]
            top = "requantize_axis"
            reset, reset_active = "aresetn", 0
            clock = "aclk"
            in_valid, in_ready = "s_tvalid", "s_tready"
            out_valid, out_ready = "m_tvalid", "m_tready"
            inputs = {
                "s_tdata[31:0]": "accumulator",
                "s_tdata[63:32]": "multiplier",
                "s_tdata[69:64]": "-shift",
            }
            outputs = {"result": "m_tdata[7:0]"}

    Outputs are sampled just before the clock's edge, and inputs change just after it.

    Attributes
    ----------
    inputs
        Formulas (`eightfold.conformance.adapters.formulas`) by port, or by some bits of one, such
        as ``"data[31:0]"``; bits without a formula are 0. A number is there all the time, also in
        reset; other bits have no meaning where no case is offered. Element i of a list is in the
        bits i * w and up of its place, whose width is w times the length. Every input of the module
        is here, or is clock, reset or a handshake.
    outputs
        Ports, or some bits of one, by column of the unit's results. A signed column's number has
        its sign in the highest of these bits; a list has its element 0 in the lowest ones.
    latency
        Edges of the clock from the one that takes a case to the one after which its answer is
        there, both counted: 1 for a single register between input and output, 0 for combinational
        logic.
    in_valid, in_ready
        Ports of the handshake of the cases, each or None. Without ``in_valid`` there is a case in
        every cycle; without ``in_ready`` every case is taken.
    out_valid, out_ready
        Ports of the handshake of the answers, each or None; ``out_valid`` needs ``in_valid``, and
        stands in place of ``latency``.
    one_at_a_time
        Whether a case has to wait for the answer before it: for a unit that computes for many
        cycles, and is started by ``in_valid`` and has its ``done`` as ``out_valid``. The case stays
        at the ports until then.
    pauses
        Probability that in a cycle no case is offered, and that no answer is taken, if there are
        ports for this. Of every 1024 cycles, 256 are without pauses, 256 with those of the cases,
        256 with those of the answers, and 256 with both.

    See `eightfold.conformance.adapters.rtl.RtlAdapter` for files, parameters, clock and reset.
    """

    inputs: ClassVar[Mapping[str, Formula]] = {}
    outputs: ClassVar[Mapping[str, str]] = {}
    latency: int | None = None
    in_valid: str | None = None
    in_ready: str | None = None
    out_valid: str | None = None
    out_ready: str | None = None
    one_at_a_time: bool = False
    pauses: float = 0.3

    def harness(self) -> tuple[str, str]:
        """Return the name and the text of the module around theirs."""
        self._check()
        elements, widths = self._results
        handshakes = {
            port: wire
            for port, wire in (
                (self.in_valid, "in_valid"),
                (self.in_ready, "hs_in_ready"),
                (self.out_valid, "hs_out_valid"),
                (self.out_ready, "out_ready"),
            )
            if port
        }
        wires = [f"  wire {wire};" for wire in handshakes.values() if wire.startswith("hs_")]
        wires += [f"  wire [{width - 1}:0] out_{port};" for port, width in widths.items()]
        wires += driven(self._input_widths, self._sources())
        connections = {port: f"in_{port}" for port in self._input_widths}
        connections |= {port: f"out_{port}" for port in widths}
        text = template(
            "stream.v.in",
            top=self.top,
            word=str(8 * -(-self._word_bits // 8)),
            result=str(4 * sum(element.digits for element, _ in elements)),
            latency=str(self.latency or 0),
            one_at_a_time=str(int(self.one_at_a_time)),
            wires="\n".join(wires),
            in_ready="hs_in_ready" if self.in_ready else "1'b1",
            out_valid="hs_out_valid" if self.out_valid else "1'b1",
            came="out_ready && out_valid_now === 1'b1" if self.out_valid else "under_way[LATENCY]",
            can_wait=str(int(self.out_ready is not None)),
            can_pause=str(int(self.in_valid is not None)),
            answer=shown(elements, widths),
            instance=self.instance(connections | handshakes),
        )
        return "eightfold_stream", text

    def answer(
        self,
        cases: Mapping[str, NDArray[Any]],
        *,
        simulator: str,
        seed: int = 0,
        trace: Path | None = None,
    ) -> UnitAnswers:
        """Return the module's answers; see `UnitAdapter.answer`.

        A simulator that ends early, because the module calls ``$finish`` for example, or does not
        end within ``cpu_seconds``, leaves the rest of the answers missing.
        """
        from eightfold.sim.simulator.runner import BenchFailed, run_bench
        from eightfold.sim.simulator.toolchain import checked_simulator

        count = self.check_cases(cases)
        design = self.designs()[0]
        elements = [element for element, _ in self._results[0]]
        with tempfile.TemporaryDirectory(prefix="eightfold-") as name:
            words, results = Path(name, "cases.hex"), Path(name, "results.hex")
            self._write(words, cases)
            try:
                report = run_bench(
                    design,
                    BENCH,
                    checked_simulator(simulator),
                    parameters={
                        "total": count,
                        "patience": self.patience,
                        "linger": LINGER + (self.latency or 0),
                        "pauses": round(256 * self.pauses),
                        "reset_cycles": self.reset_cycles,
                    },
                    seed=seed,
                    trace=trace,
                    files={**self.data_files(), words.name: words, results.name: results},
                    cpu_seconds=self.cpu_seconds,
                ).report
                failed = ""
            except BenchFailed as error:
                report = {}
                failed = failure_note(error)
            values, answered = read_words(results, elements, self.shapes(count))
        return UnitAnswers(
            results=values,
            extra=report.get("early", 0) + report.get("late", 0),
            note=failed or self._note(report, count, answered),
            crashed=bool(failed),
        )

    def _note(self, report: Mapping[str, int], count: int, answered: int) -> str:
        """Return what the handshakes have shown, in one line."""
        notes = []
        if answered < count:
            after = f"after {answered} of {count} answers" if answered else "ever"
            notes.append(f"no answer within {self.patience} cycles, {after}")
            if report["accepted"] == answered and self.in_ready:
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

    def _write(self, path: Path, cases: Mapping[str, NDArray[Any]]) -> None:
        fields = []
        for place, _, bits, start in self._fields:
            formula = self.inputs[self._texts[place]]
            if isinstance(formula, int):
                continue
            what = f"{self.name}.inputs[{self._texts[place]!r}]"
            values = evaluate(what, formula, cases)
            check_range(what, values, element_bits(what, values, bits))
            fields.append((values, start, bits))
        write_words(path, fields, self._word_bits, len(next(iter(cases.values()))))

    def _sources(self) -> Iterator[tuple[PortBits, int, int, str]]:
        """Return places, their lowest bits and bits, and what drives them."""
        for place, low, bits, start in self._fields:
            formula = self.inputs[self._texts[place]]
            if isinstance(formula, int):
                what = f"{self.name}.inputs[{self._texts[place]!r}]"
                check_range(what, np.array([int(formula)], object), bits)
                yield place, low, bits, f"{bits}'h{int(formula) & ((1 << bits) - 1):x}"
            else:
                yield place, low, bits, f"word[{start + bits - 1}:{start}]"

    @cached_property
    def _texts(self) -> dict[PortBits, str]:
        """What each place is called in `inputs`."""
        return {PortBits.parse(f"{self.name}.inputs", text): text for text in self.inputs}

    @cached_property
    def _input_widths(self) -> dict[str, int]:
        return {
            place.port: self.width(f"inputs[{text!r}]", place.port, is_input=True)
            for place, text in self._texts.items()
        }

    @cached_property
    def _fields(self) -> list[tuple[PortBits, int, int, int]]:
        """Places, lowest bit and bits in the port, and lowest bit in a word of the cases."""
        found = []
        start = 0
        for place, text in self._texts.items():
            what = f"{self.name}.inputs[{text!r}]"
            low, bits = place.within(what, self._input_widths[place.port])
            for other, other_low, other_bits, _ in found:
                if (
                    other.port == place.port
                    and low < other_low + other_bits
                    and other_low < low + bits
                ):
                    raise InputError(f"{what}: has bits of {self._texts[other]!r} too")
            found.append((place, low, bits, start))
            start += 0 if isinstance(self.inputs[text], int) else bits
        return found

    @property
    def _word_bits(self) -> int:
        words = [
            bits
            for place, _, bits, _ in self._fields
            if not isinstance(self.inputs[self._texts[place]], int)
        ]
        return max(sum(words), 1)

    @cached_property
    def _results(self) -> tuple[list[tuple[Element, PortBits]], dict[str, int]]:
        """The numbers of an answer with their places, and the widths of the ports they are in."""
        elements = self.result_elements(self.outputs)
        ports = {place.port for _, place in elements}
        return elements, {
            port: self.width("outputs", port, is_input=False) for port in sorted(ports)
        }

    def _check(self) -> None:
        self.check_clock()
        for text, formula in self.inputs.items():
            check_formula(f"{self.name}.inputs[{text!r}]", formula)
        for what, is_input in (
            ("in_valid", True),
            ("in_ready", False),
            ("out_valid", False),
            ("out_ready", True),
        ):
            port = getattr(self, what)
            if port is not None and self.width(what, port, is_input=is_input) != 1:
                raise InputError(f"{self.name}.{what}: {port} has more than one bit")
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
        if not 0 <= self.pauses < 1:
            raise InputError(f"{self.name}.pauses: 0 to below 1, not {self.pauses!r}")
