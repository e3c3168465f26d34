"""A host of a board: what it refuses, and the real command over a line with faults."""

import os
import pty
import select
import subprocess
import sys
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from eightfold.boards.host import Loaded, find_board
from eightfold.boards.places import DESCRIPTION, MAGIC, MAIN_RAM, REGISTERS
from eightfold.boards.simulation import BIT, CLOCK, hosted, simulate
from eightfold.common.errors import HardwareError, InputError
from eightfold.compiler import compile_network
from eightfold.isa import VERSION
from eightfold.isa.registers import IDENTIFICATION, configuration_words
from eightfold.isa.registers import REGISTERS as ALL
from eightfold.operators import load_int8
from eightfold.sim.simulator.runner import Unit
from eightfold.target.config import PRESETS
from examples.digits.network import MODEL_FILE

OFFSETS = {register.name: REGISTERS + register.offset for register in ALL}
GRAPH = load_int8(MODEL_FILE.read_bytes())
CONFIG = PRESETS["nano"]


class Memory:
    """A bus with a board's registers and memory; its accelerator does what a test says."""

    def __init__(self, at_doorbell: Callable[["Memory"], None] = lambda bus: None) -> None:
        self.repeats, self._at_doorbell = 0, at_doorbell
        identity = (IDENTIFICATION, VERSION, *configuration_words(CONFIG))
        described = (MAGIC, 50_000_000, 1 << 20, 1, MAIN_RAM + 64, 5, 0)
        self.words = {DESCRIPTION + 4 * n: word for n, word in enumerate(described)}
        self.words |= {REGISTERS + 4 * n: word for n, word in enumerate(identity)}

    def read(self, addr: int, length: int) -> list[int]:
        return [self.words.get(addr + 4 * n, 0) for n in range(length)]

    def write(self, addr: int, data: list[int]) -> None:
        self.words |= {addr + 4 * n: word for n, word in enumerate(data)}
        if addr == OFFSETS["CONTROL"] and data == [1]:
            self._at_doorbell(self)


def test_a_board_is_found_and_its_memory_made_ready() -> None:
    bus = Memory()
    assert find_board(bus)[1:] == (50_000_000, 1 << 20, configuration_words(CONFIG))
    assert bus.words[MAIN_RAM + 64] == 5


@pytest.mark.parametrize(
    ("address", "message"),
    [(DESCRIPTION, "none of Eightfold's"), (REGISTERS + 4, "bitstream of this version")],
)
def test_another_board_is_refused(address: int, message: str) -> None:
    bus = Memory()
    bus.words[address] += 1
    with pytest.raises(InputError, match=message):
        find_board(bus)


def test_another_configuration_and_a_small_memory_are_refused() -> None:
    (stream,) = compile_network(GRAPH, CONFIG).streams
    board = find_board(Memory())
    with pytest.raises(InputError, match="compile with --config nano"):
        Loaded(board, stream, PRESETS["small"])
    with pytest.raises(InputError, match="the board has 8,192"):
        Loaded(board._replace(memory=8192), stream, CONFIG)


def stopped(bus: Memory) -> None:
    bus.words |= {OFFSETS["STATUS"]: 4, OFFSETS["ERROR"]: 7 << 16 | 3}


def reset(bus: Memory) -> None:
    bus.words |= {address: 0 for name, address in OFFSETS.items() if address > REGISTERS + 0xC}


def reset_and_started(bus: Memory) -> None:
    reset(bus)
    bus.words[OFFSETS["STATUS"]] = 2


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (stopped, "error ADDRESS at command 7"),
        (reset, "was reset in the run"),
        (reset_and_started, "was reset in the run"),
    ],
)
@pytest.mark.slow
def test_a_run_that_ends_otherwise_has_no_result(
    event: Callable[[Memory], None], message: str
) -> None:
    (stream,) = compile_network(GRAPH, CONFIG).streams
    loaded = Loaded(find_board(Memory(event)), stream, CONFIG)
    with pytest.raises(HardwareError, match=message):
        loaded.compare(GRAPH)


class Wire(threading.Thread):
    """A line from a new pseudo-terminal to another, which changes what passes."""

    def __init__(self, port: str, change: Callable[[bytes], bytes]) -> None:
        super().__init__(daemon=True)
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY)
        self._host, slave = pty.openpty()
        tty.setraw(slave)
        self._slave, self._change, self._open = slave, change, True
        self.port = os.ttyname(slave)

    def run(self) -> None:
        ways = {self._board: self._host, self._host: self._board}
        while self._open:
            for came in select.select([*ways], [], [], 0.05)[0]:
                os.write(ways[came], self._change(os.read(came, 4096)))

    def cut(self) -> None:
        """Unplug it."""
        if self._open:
            self._open = False
            self.join()
            for each in (self._board, self._host, self._slave):
                os.close(each)


@contextmanager
def wire(port: str, change: Callable[[bytes], bytes]) -> Iterator[Wire]:
    line = Wire(port, change)
    line.start()
    try:
        yield line
    finally:
        line.cut()


def command(port: str, *words: str) -> list[str]:
    program = [
        sys.executable,
        "-m",
        "eightfold.cli.main",
        *words[:2],
        "--patience",
        "8",
        *words[2:],
    ]
    return [*program, "--port", port, "--baud", str(CLOCK // BIT)]


def eightfold(port: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(port, *words), capture_output=True, text=True, timeout=600, check=False
    )


DIGITS = ("run", "digits", "--config", "nano", "--backend", "board", "--compare", "--fast")


def noise(rng: np.random.Generator, rate: float) -> Callable[[bytes], bytes]:
    def change(data: bytes) -> bytes:
        found = bytearray()
        for byte, kind in zip(data, rng.random(len(data)) / rate, strict=True):
            found += bytes(
                [byte]
                if kind >= 1
                else [[], [byte, byte], [byte ^ 1 << rng.integers(8)]][int(3 * kind)]
            )
        return bytes(found)

    return change


@pytest.mark.long
def test_the_command_runs_on_a_board_whatever_the_line_does() -> None:
    soc = hosted("litedram-sdr-16", Unit("accelerator", CONFIG).file())
    with simulate(soc) as port:
        with wire(port, noise(np.random.default_rng(1), 1 / 4000)) as line:
            noisy = eightfold(line.port, *DIGITS)
            assert noisy.returncode == 0, noisy.stderr
        with wire(port, lambda data: data) as line:
            left = subprocess.Popen(command(line.port, *DIGITS), stderr=subprocess.PIPE, text=True)
            time.sleep(20)
            line.cut()
            said = left.communicate(timeout=100)[1]
            assert (left.returncode, said.count("\n")) == (2, 1), said
            assert said.startswith("eightfold: /dev/")
        with wire(port, lambda data: b"") as line:
            silent = eightfold(line.port, "board", "info", "--patience", "1")
            assert silent.returncode == 2
            assert "nothing answers" in silent.stderr
        with wire(port, lambda data: data) as line:
            killed = subprocess.Popen(command(line.port, *DIGITS), stderr=subprocess.DEVNULL)
            time.sleep(20)
            killed.kill()
            killed.wait()
        again = eightfold(port, *DIGITS)
        assert (again.returncode, again.stdout) == (0, noisy.stdout), again.stderr


@pytest.mark.long
def test_a_board_tests_itself() -> None:
    with simulate(hosted("litedram-sdr-16", Unit("accelerator", CONFIG).file())) as port:
        told = eightfold(port, "board", "selftest")
        assert told.returncode == 0, told.stderr
        assert told.stdout.count("equal to golden") == 3
