# amaranth: UnusedElaboratable=no
"""The sequencer: order, tokens, every error, soft reset, and every mutant is caught."""

from typing import Any

import pytest
from amaranth.hdl import Mux

from eightfold.hw.control import command_decoder, control, sequencer
from eightfold.hw.control.command_queue import CommandQueue
from eightfold.hw.control.command_rules import WordRule, word_rules
from eightfold.hw.control.control import Control
from eightfold.hw.control.run_control import RunControl
from eightfold.hw.control.tokens import Tokens
from eightfold.hw.control.watchdog import Watchdog
from eightfold.sim.simulator.runner import BenchFailed, icarus_available, run_bench
from eightfold.target.config import AcceleratorConfig

BENCH = "eightfold.sim.benches.sequencer"

ORDER = "commands_start_in_order_and_with_their_tokens/pace=20/stall=0.3"

SMALL: dict[str, Any] = {
    "lanes": 4,
    "width": 4,
    "scratchpad": 4096,
    "weight_buffer": 512,
    "vector_lanes": 2,
}

needs_icarus = pytest.mark.skipif(not icarus_available(), reason="Icarus is not installed")


def run_sequencer(simulator, seed, port=4, testcase=None):
    sizes: dict[str, Any] = SMALL | {"port": port}
    return run_bench(
        lambda: Control(AcceleratorConfig(**sizes)),
        BENCH,
        simulator,
        parameters={"config": sizes, "commands": 60},
        seed=seed,
        testcase=testcase,
    )


# Ports of the memory are also swept by configurations that run networks.
@pytest.mark.parametrize(
    ("port", "seed"),
    [
        pytest.param(4, 0, marks=pytest.mark.slow),
        pytest.param(8, 1, marks=pytest.mark.long),
    ],
)
def test_runs_streams_and_reports_errors(port, seed):
    run_sequencer("verilator", seed, port)


@needs_icarus
@pytest.mark.parametrize("seed", [2])
def test_runs_streams_on_icarus(seed):
    run_sequencer("icarus", seed, testcase=[ORDER, "the_stream_is_a_word_per_cycle"])


class IgnoresOneGiver(Tokens):
    """Starts commands without the vector engine's token."""

    def _complete(self, wait, available):
        return (~wait | available)[:2].all()


class GivesAtStart(CommandQueue):
    """Gives a command's tokens when it starts."""

    def _flight(self, m, assembler):
        room = super()._flight(m, assembler)
        m.d.comb += self.give.eq(Mux(self.grant, self._header(assembler).signal, 0))
        return room


class EndsEarly(CommandQueue):
    """Is idle whatever it has to do."""

    def _count(self, m):
        m.d.comb += self.idle.eq(1)


class ForgetsMemory(RunControl):
    """Resets the accelerator before memory has answered."""

    def _answered(self):
        return self.memory_idle | 1


class NeverExpires(Watchdog):
    """Waits for ever."""

    def _restarts(self):
        return self.progress | 1


def allows_unused_bits(config):
    """Return rules without those for unused bits."""
    return {
        opcode: [WordRule(rule.expected, rule.mask if rule.expected else 0) for rule in rules]
        for opcode, rules in word_rules(config).items()
    }


@pytest.mark.slow
@needs_icarus
@pytest.mark.parametrize(
    ("module", "mutant", "testcase"),
    [
        (sequencer, IgnoresOneGiver, ORDER),
        (sequencer, GivesAtStart, ORDER),
        (sequencer, EndsEarly, ORDER),
        (control, ForgetsMemory, "a_soft_reset_at_any_time_leaves_nothing_behind"),
        (control, NeverExpires, "a_run_without_progress_times_out"),
        (command_decoder, allows_unused_bits, "illegal_streams_stop_it/kind=2"),  # unused bits,
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_bench_catches(module, mutant, testcase, monkeypatch):
    name = "word_rules" if mutant is allows_unused_bits else mutant.__bases__[0].__name__
    monkeypatch.setattr(module, name, mutant)
    with pytest.raises(BenchFailed, match="assert|Error|no interrupt"):
        run_sequencer("icarus", 3, testcase=testcase)
