"""The AXI memory of simulations agrees with an independent master; the checker notices faults."""

import re
import subprocess
from types import SimpleNamespace

import pytest

from eightfold.common.files import IMPORT_ROOT
from eightfold.sim.bench.axi import ATTRIBUTES, CHANNELS, AxiChecker, AxiRuleViolation
from eightfold.sim.simulator.build import Verilog
from eightfold.sim.simulator.lint import lint
from eightfold.sim.simulator.runner import run_bench

PORT = 8


class Bus:
    """A bus of plain numbers, and the checker that watches it."""

    def __init__(self):
        names = [f"{c}{n}" for c, names in CHANNELS.items() for n in ("valid", "ready", *names)]
        self.signals = {name: SimpleNamespace(value=0) for name in names}
        top = SimpleNamespace(**{f"m_{name}": signal for name, signal in self.signals.items()})
        self.checker = AxiChecker(top, "m_", PORT)

    def cycle(self, *words, stalled=()):
        """Offer (channel, fields) for a cycle; the channels in ``stalled`` are not ready."""
        for channel in CHANNELS:
            self.signals[f"{channel}valid"].value = 0
            self.signals[f"{channel}ready"].value = int(channel not in stalled)
        for channel, fields in words:
            self.signals[f"{channel}valid"].value = 1
            for name in CHANNELS[channel]:
                self.signals[f"{channel}{name}"].value = fields.get(name, 0)
        self.checker.step()


def address(channel, at=0, beats=4, **other):
    return channel, {"addr": at, "len": beats - 1, "size": 3, **ATTRIBUTES} | other


def beats(channel, count, last=True):
    return [(channel, {"last": int(last and beat == count - 1)}) for beat in range(count)]


def test_accepts_reads_and_writes_in_any_order_of_their_channels():
    bus = Bus()
    bus.cycle(address("ar", 64, 2), *beats("w", 1), stalled=("ar",))
    bus.cycle(address("ar", 64, 2), address("aw", 8, 1))
    bus.cycle(address("ar", 0, 16), address("aw", 0, 2), beats("r", 2)[0], ("b", {}))
    bus.cycle(beats("r", 2)[1], beats("w", 2)[0])
    bus.cycle(beats("w", 2)[1])
    assert not bus.checker.idle
    for beat in beats("r", 16):
        bus.cycle(beat)
    bus.cycle(("b", {}))
    assert bus.checker.idle
    assert (bus.checker.most_reads, bus.checker.most_writes) == (2, 1)
    assert bus.checker.transfers == {"ar": 2, "r": 18, "aw": 2, "w": 3, "b": 2}


@pytest.mark.parametrize(
    ("at", "count", "other", "message"),
    [
        (4, 1, {}, "not aligned"),
        (0, 17, {}, "too long"),
        (8 * 15, 2, {}, "crosses a multiple of BURST"),
        (4096 - 8, 2, {}, "crosses 4 KiB"),
        (0, 1, {"size": 2}, "size"),
        *(
            (0, 1, {name: value ^ 1}, f"{name} is not {value}")
            for name, value in ATTRIBUTES.items()
        ),
        (0, 1, {"cache": 0b1011}, "cache is not 3"),
        (0, 1, {"prot": 0b010}, "prot is not 0"),
        (0, 1, {"qos": 0b1000}, "qos is not 0"),
    ],
)
@pytest.mark.parametrize("channel", ["ar", "aw"])
def test_refuses_bursts_that_are_not_ours(channel, at, count, other, message):
    with pytest.raises(AxiRuleViolation, match=f"{channel} after 1 words: {message}"):
        Bus().cycle(address(channel, at, count, **other))


@pytest.mark.parametrize("channel", CHANNELS)
def test_refuses_a_word_that_does_not_stay(channel):
    bus = Bus()
    bus.cycle((channel, {}), stalled=(channel,))
    with pytest.raises(AxiRuleViolation, match="valid dropped"):
        bus.cycle()
    bus = Bus()
    bus.cycle((channel, {}), stalled=(channel,))
    with pytest.raises(AxiRuleViolation, match="moved while stalled"):
        bus.cycle((channel, dict.fromkeys(CHANNELS[channel], 1)), stalled=(channel,))


@pytest.mark.parametrize(
    ("cycles", "message"),
    [
        ([beats("r", 1)], "nobody asked"),
        ([[address("ar", 0, 1), *beats("r", 1)]], "nobody asked"),
        ([[address("ar", 0, 2)], beats("r", 1)], "last is in the wrong place"),
        ([[address("ar", 0, 1)], beats("r", 1, last=False)], "last is in the wrong place"),
        ([[address("aw", 0, 2)], beats("w", 1)], "last is in the wrong place"),
        ([[address("aw", 0, 1)], beats("w", 1, last=False)], "last is in the wrong place"),
        ([beats("w", 1), [address("aw", 0, 2)]], "of another number"),
        ([beats("w", 1, last=False), [address("aw", 0, 1)]], "less beats than were written"),
        ([[address("aw", 0, 2)], beats("w", 2)[:1], [("b", {})]], "nothing was written"),
        ([beats("w", 1), [("b", {})]], "nothing was written"),
    ],
)
def test_refuses_beats_and_answers_out_of_place(cycles, message):
    bus = Bus()
    [*good, bad] = cycles
    for words in good:
        bus.cycle(*words)
    with pytest.raises(AxiRuleViolation, match=message):
        bus.cycle(*bad)


FOLDER = IMPORT_ROOT / "sim" / "verilog"


@pytest.mark.slow
@pytest.mark.parametrize(("port", "seed"), [(4, 0), (16, 1)])
@pytest.mark.usual("port")
def test_memory(simulator, port, seed):
    parameters = (("PORT", port), ("BYTES", 1 << 16))
    memory = Verilog("axi_memory", (FOLDER / "axi_memory.v",), parameters)
    result = run_bench(
        memory, "eightfold.sim.benches.axi_memory", simulator, parameters={"port": port}, seed=seed
    )
    assert len(result.tests) == 19


@pytest.mark.parametrize("name", ["axi_memory", "axi_attributes", "axi_watch", "trace_monitor"])
def test_passes_lint(name):
    # State that only one process uses is assigned with `=`.
    found = lint(FOLDER / f"{name}.v")
    assert [line for line in found if not re.match(r"%Warning-BLKSEQ", line)] == []


@pytest.mark.icarus
@pytest.mark.parametrize("name", ["axi_memory", "axi_attributes", "axi_watch", "trace_monitor"])
def test_reads_in_icarus_as_verilog_2005(name):
    command = ["iverilog", "-g2005", "-Wall", "-t", "null", str(FOLDER / f"{name}.v")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
