"""A host of a board: what it refuses, and the real command over a line with faults."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import threading
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("litedram", reason="LiteX is not installed: pip install 'eightfold[board]'")

from eightfold.boards import protocol
from eightfold.boards.host import Loaded, find_board
from eightfold.boards.simulation import BIT, CLOCK, hosted, simulate
from eightfold.common.errors import HardwareError, InputError
from eightfold.common.line import BAUD
from eightfold.compiler import compile_network
from eightfold.isa import VERSION
from eightfold.isa.registers import IDENTIFICATION, configuration_words
from eightfold.isa.registers import REGISTERS as ALL
from eightfold.operators import load_int8
from eightfold.sim.simulator.sources import Unit
from eightfold.target.config import PRESETS, AcceleratorConfig
from examples.digits.network import MODEL_FILE
from tests.support.models.mlperf_tiny import mlperf_tiny, models, required
from tests.support.models.networks import streaming

OFFSETS = {register.name: protocol.REGISTERS + register.offset for register in ALL}
GRAPH = load_int8(MODEL_FILE.read_bytes())
CONFIG = PRESETS["nano"]


class Memory:
    """A bus with a board's registers and memory; its accelerator does what a test says."""

    def __init__(
        self,
        at_doorbell: Callable[["Memory"], None] = lambda bus: None,
        config: AcceleratorConfig = CONFIG,
    ) -> None:
        self.repeats, self._at_doorbell, self._config = 0, at_doorbell, config
        identity = (IDENTIFICATION, VERSION, *configuration_words(config))
        described = (protocol.MAGIC, 50_000_000, 1 << 20, 1, protocol.MAIN_RAM + 64, 5, 0)
        self.words = {protocol.DESCRIPTION + 4 * n: word for n, word in enumerate(described)}
        self.words |= {protocol.REGISTERS + 4 * n: word for n, word in enumerate(identity)}

    def read(self, addr: int, length: int) -> list[int]:
        return [self.words.get(addr + 4 * n, 0) for n in range(length)]

    def write(self, addr: int, data: list[int]) -> None:
        if addr == OFFSETS["TIMEOUT"] and not self._config.watchdog:
            return
        self.words |= {addr + 4 * n: word for n, word in enumerate(data)}
        if addr == OFFSETS["CONTROL"] and data == [1]:
            self._at_doorbell(self)


def test_a_board_is_found_and_its_memory_made_ready() -> None:
    bus = Memory()
    steps = ((protocol.MAIN_RAM + 64, 5, 0),)
    assert find_board(bus)[1:] == (50_000_000, 1 << 20, configuration_words(CONFIG), steps)
    assert bus.words[protocol.MAIN_RAM + 64] == 5


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (protocol.DESCRIPTION, "none of Eightfold's"),
        (protocol.REGISTERS + 4, "bitstream of this version"),
    ],
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
    bus.words |= {
        address: 0 for name, address in OFFSETS.items() if address > protocol.REGISTERS + 0xC
    }


def ended(bus: Memory) -> None:
    bus.words[OFFSETS["STATUS"]] = 2


def reset_and_started(bus: Memory) -> None:
    reset(bus)
    ended(bus)


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["pico", "nano"])
def test_a_run_ends_well_with_and_without_a_watchdog(name: str) -> None:
    config = PRESETS[name]
    stream = compile_network(GRAPH, config, fallback=True).streams[0]
    loaded = Loaded(find_board(Memory(ended, config)), stream, config)
    result = loaded.run({}, dict.fromkeys(stream.outputs, 4))
    assert set(result.outputs) == set(stream.outputs)


class Wire(threading.Thread):
    """A line from a new pseudo-terminal to another, which changes what passes."""

    HALF = 20000
    """Bytes that have passed when about half of `DIGITS` is done, whatever the machine's speed."""

    def __init__(self, port: str, change: Callable[[bytes], bytes]) -> None:
        super().__init__(daemon=True)
        self._board = os.open(port, os.O_RDWR | os.O_NOCTTY)
        self._host, slave = pty.openpty()
        tty.setraw(slave)
        self._slave, self._change, self._open = slave, change, True
        self.port = os.ttyname(slave)
        self._bytes, self._reached = 0, threading.Event()

    def run(self) -> None:
        ways = {self._board: self._host, self._host: self._board}
        while self._open:
            for came in select.select([*ways], [], [], 0.05)[0]:
                data = os.read(came, 4096)
                os.write(ways[came], self._change(data))
                self._bytes += len(data)
                if self._bytes >= self.HALF:
                    self._reached.set()

    def wait_until_half(self) -> None:
        """Return when a program that uses it is in the middle of its work."""
        assert self._reached.wait(timeout=100)

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
    program = [sys.executable, "-m", "eightfold.cli.main", *words[:2], "--patience", "8"]
    return [*program, *words[2:], "--port", port, "--baud", str(CLOCK // BIT)]


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


@contextmanager
def answered(memory: Memory) -> Iterator[str]:
    """Yield a pseudo-terminal behind which a board of Python answers."""
    heard = bytearray()
    board, slave = pty.openpty()
    tty.setraw(slave)

    def answer() -> None:
        with suppress(OSError):
            while came := os.read(board, 4096):
                heard.extend(came)
                *frames, rest = bytes(heard).split(bytes([protocol.END]))
                heard[:] = rest
                for operation, words, sequence, address, data in filter(
                    None, map(protocol.decode, frames)
                ):
                    if operation == protocol.READ:
                        data = np.array(memory.read(address, words), "<u4").tobytes()
                    else:
                        memory.write(address, np.frombuffer(data, "<u4").tolist())
                        data = b""
                    os.write(board, protocol.encode(protocol.DONE, words, sequence, address, data))

    threading.Thread(target=answer, daemon=True).start()
    try:
        yield os.ttyname(slave)
    finally:
        os.close(slave)
        os.close(board)


@pytest.mark.slow
def test_the_command_refuses_a_bitstream_of_another_version() -> None:
    memory = Memory()
    memory.words[protocol.REGISTERS + 4] += 1
    with answered(memory) as port:
        done = eightfold(port, *DIGITS)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "load a bitstream of this version" in done.stderr


@pytest.mark.slow
def test_a_line_that_takes_nothing_ends_the_command() -> None:
    """As CTS that is stuck does."""
    board, slave = pty.openpty()
    tty.setraw(slave)
    termios.tcflow(slave, termios.TCOOFF)
    done = eightfold(os.ttyname(slave), "board", "info", "--patience", "1")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert "timeout" in done.stderr
    os.close(board)
    os.close(slave)


@pytest.mark.long
def test_the_command_runs_on_a_board_whatever_the_line_does() -> None:
    soc = hosted("litedram-sdr-16", Unit("accelerator", CONFIG).file())
    with simulate(soc) as port:
        with wire(port, noise(np.random.default_rng(1), 1 / 4000)) as line:
            noisy = eightfold(line.port, *DIGITS)
            assert noisy.returncode == 0, noisy.stderr
        with wire(port, lambda data: data) as line:
            left = subprocess.Popen(command(line.port, *DIGITS), stderr=subprocess.PIPE, text=True)
            line.wait_until_half()
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
            line.wait_until_half()
            killed.kill()
            killed.wait()
        again = eightfold(port, *DIGITS)
        assert (again.returncode, again.stdout) == (0, noisy.stdout), again.stderr


def okay_nabu() -> Path:
    return required(models().parent / "street" / "okay_nabu.tflite")


NETWORKS = {
    "state": ("block-ram", streaming, 3),
    "kws_ref_model": ("litedram-sdr-16", lambda: mlperf_tiny("kws_ref_model").read_bytes(), 1),
    "okay_nabu": ("litedram-ddr3-16", lambda: okay_nabu().read_bytes(), 3),
}


@pytest.mark.long
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_run_on_a_board(name: str, tmp_path: Path) -> None:
    memory, content, count = NETWORKS[name]
    path = tmp_path / "model.tflite"
    path.write_bytes(content())
    words = ("run", str(path), *DIGITS[2:], "--count", str(count))
    with simulate(hosted(memory, Unit("accelerator", CONFIG).file())) as port:
        done = eightfold(port, *words)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("board: ") == count


@pytest.mark.long
def test_digits_at_the_baud_rate_and_clock_of_a_board() -> None:
    clock = 50_000_000
    file = Unit("accelerator", CONFIG).file()
    soc = hosted("block-ram", file, clock, baud=BAUD)
    with simulate(soc, clock / BAUD) as port:
        done = eightfold(port, *DIGITS)
    assert done.returncode == 0, done.stderr
    assert "at 50 MHz" in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("memory", ["block-ram", "litedram-sdr-16"])
def test_a_reset_in_a_run_ends_it_or_changes_nothing(memory: str) -> None:
    rng = np.random.default_rng(2)
    processes: list[int] = []
    ends = []
    with simulate(
        hosted(memory, Unit("accelerator", CONFIG).file()), BIT, processes.append
    ) as port:
        begin = time.monotonic()
        good = eightfold(port, *DIGITS)
        assert good.returncode == 0, good.stderr
        for wait in rng.uniform(0.3, 1, 5) * (time.monotonic() - begin):
            run = subprocess.Popen(
                command(port, *DIGITS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
            time.sleep(wait)
            os.kill(processes[0], signal.SIGUSR1)
            found, said = run.communicate(timeout=300)
            ends.append(run.returncode)
            if run.returncode == 0:
                assert found == good.stdout
            else:
                assert said.count("\n") == 1, said
        again = eightfold(port, *DIGITS)
        assert (again.returncode, again.stdout) == (0, good.stdout), again.stderr
    assert any(ends), "no reset came in a run"


@pytest.mark.long
@pytest.mark.parametrize("name", ["pico", "nano"])
def test_a_board_tests_itself(name: str) -> None:
    with simulate(hosted("litedram-sdr-16", Unit("accelerator", PRESETS[name]).file())) as port:
        told = eightfold(port, "board", "selftest")
        assert told.returncode == 0, told.stderr
        assert told.stdout.count("equal to golden") == 3
        assert ("without SOFTMAX" in told.stdout) == (name == "pico")
