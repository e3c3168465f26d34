"""A stranger's module behind registers: its answers, and what is said when the bus fails."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from eightfold.common.errors import InputError
from eightfold.conformance.adapters.formulas import Formula
from eightfold.conformance.adapters.memory_mapped import MemoryMappedAdapter
from eightfold.conformance.adapters.registers import Array, Memory
from eightfold.conformance.answers import MISSING, UNKNOWN, UnitAnswers
from eightfold.conformance.profile import PROFILES
from eightfold.conformance.units.registry import unit_cases
from tests.support.conformance import streams
from tests.support.conformance.streams import bytes_of, changed, columns

HERE = Path(streams.__file__).parent

KINDS = ("right", "never_answers", "never_done", "error_at_20", "error_at_14", "x_sum")
"""What is odd about the modules of `BUSES`, by number."""


class OnAxi(MemoryMappedAdapter):
    """Adds accumulator and shift."""

    sources = (HERE / "registers.v",)
    top = "on_axi"
    clock = "ACLK"
    reset, reset_active = "ARESETN", 0
    bus = "axi4-lite"
    writes: ClassVar[Mapping[int | Array, Formula]] = {0x10: "accumulator", 0x14: "shift"}
    start = (0x00, 1)
    done = (0x04, 1)
    acknowledge = (0x04, 1)
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": "0x20[7:0]"}
    patience = 300

    def __init__(self, folder: Path, kind: str = "right") -> None:
        file = folder / "kind.hex"
        file.write_text(f"{KINDS.index(kind):x}\n")
        self.files = [file]


class OnApb(OnAxi):
    """The same behind APB."""

    top = "on_apb"
    clock = "pclk"
    reset = "presetn"
    bus = "apb"


class OnWishbone(OnAxi):
    """The same behind Wishbone, whose addresses count words."""

    top = "on_wishbone"
    clock = "clk_i"
    reset, reset_active = "rst_i", 1
    bus = "wishbone"
    writes: ClassVar[Mapping[int | Array, Formula]] = {0x4: "accumulator", 0x5: "shift"}
    done = acknowledge = (0x01, 1)
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": "0x8[7:0]"}


BUSES: dict[str, type[OnAxi]] = {"axi4-lite": OnAxi, "apb": OnApb, "wishbone": OnWishbone}
"""By bus."""


class Windowed(OnApb):
    """Adds a list of 16 bytes too: a number for each register, or four in one."""

    unit = "dot"
    setup: ClassVar[Mapping[int, int]] = {0x00: 2}
    writes: ClassVar[Mapping[int | Array, Formula]] = {
        0x10: "bias",
        0x14: "length",
        Array(0x40, bits=8): lambda columns: columns["inputs"][:, :16],
    }
    results: ClassVar[Mapping[str, int | str | Array]] = {"result": 0x20}


BASE, SIZE = 0x4000_0000, 4096


def fetching(port: str, *, batch: int) -> MemoryMappedAdapter:
    """Return a module that adds accumulator and shift in a memory behind a port."""
    memory = Memory(
        port=port,  # pyright: ignore[reportArgumentType]
        prefix={"axi4": "m_axi_", "wishbone": "m_", "sram": "mem_"}[port],
        base=BASE,
        size=SIZE,
        writes={
            Array(BASE + 16, bits=32, stride=8): "accumulator",
            Array(BASE + 20, bits=32, stride=8): "shift",
        },
        results={"result": Array(BASE + SIZE // 2 + 3, bits=8)},
        latency=1 if port == "sram" else 5,
        word_addresses=port == "wishbone",
    )

    class Fetching(MemoryMappedAdapter):
        """Reads and writes by itself."""

        sources = (HERE / "fetching.v",)
        top = {"axi4": "fetching_axi", "wishbone": "fetching_wishbone", "sram": "fetching_sram"}[
            port
        ]
        reset = "rst"
        bus = "apb"
        writes: ClassVar[Mapping[int | Array, Formula]] = {
            0x0: BASE + 16,
            0x4: BASE + SIZE // 2 + 3,
            0x8: "count",
        }
        start = (0xC, 1)
        done = (0xC, 1)
        patience = 20_000

    adapter = Fetching()
    adapter.memory, adapter.batch = memory, batch
    return adapter


SIMULATED = [
    pytest.param("axi4-lite", "verilator", marks=pytest.mark.slow),
    pytest.param("apb", "verilator", marks=pytest.mark.long),
    pytest.param("wishbone", "verilator", marks=pytest.mark.long),
    *((bus, "icarus") for bus in BUSES),
]

FETCHED = [
    pytest.param("axi4", "verilator", marks=pytest.mark.slow),
    pytest.param("wishbone", "verilator", marks=pytest.mark.long),
    pytest.param("sram", "verilator", marks=pytest.mark.long),
    *((port, "icarus") for port in ("axi4", "wishbone", "sram")),
]

COUNT = 60


def expected(count: int = COUNT) -> np.ndarray:
    cases = columns(count)
    return bytes_of(cases["accumulator"].astype(np.int64) + cases["shift"])


def asked(adapter: OnAxi, simulator: str) -> UnitAnswers:
    return adapter.answer(columns(COUNT), simulator=simulator, seed=7)


@pytest.mark.parametrize(("bus", "simulator"), SIMULATED)
@pytest.mark.slow
def test_answers_in_registers_are_those_of_their_cases(
    bus: str, simulator: str, tmp_path: Path
) -> None:
    answers = asked(BUSES[bus](tmp_path), simulator)
    assert np.array_equal(answers.results["result"], expected())
    assert (answers.extra, answers.note, answers.crashed) == (0, "", False)


def test_lists_are_in_windows_of_registers(tmp_path: Path) -> None:
    cases = unit_cases("dot", PROFILES["tflite"], "smoke").inputs
    cases = {name: values[:40] for name, values in cases.items()}
    answers = Windowed(tmp_path).answer(cases, simulator="icarus")
    sums = cases["inputs"][:, :16].astype(np.int64).sum(axis=1) + cases["bias"] + cases["length"]
    assert np.array_equal(answers.results["result"], sums.astype(np.int32))


FAILURES = {
    "never_answers": "the write of {first} in case 0 had no answer within 300 cycles",
    "never_done": "in case 0 was 0x0 after 300 cycles: its bits 0x1 did not become 0x1",
    "error_at_20": f"{COUNT} accesses were answered with an error; the first was the read of "
    "{result} in case 0",
}
"""What is said when nothing comes, with the addresses of the first write and of the result."""


@pytest.mark.parametrize("bus", BUSES)
@pytest.mark.parametrize("kind", FAILURES)
@pytest.mark.slow
def test_what_does_not_come_is_missing_and_is_said(kind: str, bus: str, tmp_path: Path) -> None:
    answers = asked(BUSES[bus](tmp_path, kind), "icarus")
    assert (answers.results["result"] == MISSING).all()
    first, result = ("0x4", "0x8") if bus == "wishbone" else ("0x10", "0x20")
    assert answers.note.endswith(FAILURES[kind].format(first=first, result=result))


@pytest.mark.parametrize("bus", ["axi4-lite", "apb"])
@pytest.mark.slow
def test_an_error_of_a_write_leaves_what_is_read(bus: str, tmp_path: Path) -> None:
    answers = asked(BUSES[bus](tmp_path, "error_at_14"), "icarus")
    assert np.array_equal(answers.results["result"], expected())
    assert "the first was the write of 0x14 in case 0" in answers.note


def test_unknown_bits_are_unknown(tmp_path: Path) -> None:
    answers = asked(OnAxi(tmp_path, "x_sum"), "icarus")
    assert (answers.results["result"] == UNKNOWN).all()


@pytest.mark.parametrize(("port", "simulator"), FETCHED)
@pytest.mark.slow
def test_answers_in_memory_are_those_of_their_cases(port: str, simulator: str) -> None:
    adapter = fetching(port, batch=25)
    answers = adapter.answer(columns(COUNT), simulator=simulator, seed=2)
    assert np.array_equal(answers.results["result"], expected())
    assert (answers.extra, answers.note) == (0, "")


def test_a_run_may_be_of_one_case() -> None:
    adapter = fetching("sram", batch=1)
    answers = adapter.answer(columns(5), simulator="icarus")
    assert np.array_equal(answers.results["result"], expected(5))


def test_accesses_outside_of_the_memory_are_said() -> None:
    adapter = fetching("axi4", batch=25)
    adapter = changed(adapter, writes={**adapter.writes, 0x4: 0x1000_0000})
    answers = adapter.answer(columns(30), simulator="icarus")
    assert not np.array_equal(answers.results["result"], expected(30))


REFUSED: list[tuple[dict[str, object], str]] = [
    ({"bus": "axi"}, "bus: one of axi4-lite, apb, wishbone, not 'axi'"),
    ({"bus": "apb"}, r"on_axi has no port 'paddr'; its inputs are ACLK"),
    ({"prefix": "axi_"}, r"on_axi has no port 'axi_awaddr'"),
    ({"ports": {"psel": "x"}}, "ports: axi4-lite has no psel; it has awaddr"),
    ({"results": {}}, "results: must have, once each, the results of requantizer: result"),
    ({"results": {"result": "0x20[32]"}}, r"'0x20\[32\]': a word has the bits 31:0"),
    ({"results": {"result": "sum"}}, "'sum' is no register"),
    ({"batch": 2}, "more than 1 needs all results in memory"),
    ({"writes": {"0x10": "shift"}}, "writes: '0x10' is no address"),
    ({"writes": {0x110: "shift"}}, "S_AXI_AWADDR has no address 0x110"),
    ({"writes": {0x10: "shift +"}}, r"'shift \+' is no formula"),
]


@pytest.mark.parametrize(("changes", "message"), REFUSED)
def test_what_does_not_fit_is_said_in_one_line(
    changes: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        changed(OnAxi(tmp_path), **changes).designs()
    assert "\n" not in str(caught.value)


def test_values_that_differ_within_a_run_are_refused_in_registers() -> None:
    adapter = changed(fetching("sram", batch=4), writes={0x0: "accumulator"})
    with pytest.raises(InputError, match="differs from case to case of a run of 4"):
        adapter.answer(columns(8), simulator="icarus")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"port": "axi3"}, "port is axi4, wishbone or sram"),
        ({"size": 100}, "size must be a power of two"),
        ({"base": 5}, "base must be a multiple of size"),
    ],
)
def test_a_memory_that_cannot_be_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Memory(**changes)  # pyright: ignore[reportArgumentType]
