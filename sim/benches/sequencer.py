"""Benches of registers and sequencer with engines that do nothing, but take their time.

Parameters: ``config``, fields of the configuration; ``commands``, length of the random streams.
"""

from typing import Any

import cocotb

from eightfold import isa
from eightfold.hw.control.control import READ_CLIENTS
from eightfold.hw.control.run_control import PARAMETERS, SEQUENCER, WEIGHTS
from eightfold.isa.decode import CommandError, read_stream
from eightfold.sim.bench.support import clock_cycles, report
from eightfold.sim.benches.sequencer_harness import BASE, LIMIT, NAMES, check_order, running
from eightfold.sim.stimuli.commands import RandomCommand, join, round_robin, spoil


@cocotb.test()
@cocotb.parametrize((("pace", "stall"), [(20, 0.3), (3, 0.0), (60, 0.7)]))
async def commands_start_in_order_and_with_their_tokens(
    dut: Any, pace: float, stall: float
) -> None:
    """Random streams, one after the other without a reset, with all tokens and words checked."""
    bench = await running(dut, 1, pace=pace, stall=stall)
    for _ in range(2):
        await bench.succeed(bench.random_stream(bench.count))


@cocotb.test()
async def the_stream_is_a_word_per_cycle(dut: Any) -> None:
    """Words for queues that are emptied at once pass without a pause."""
    bench = await running(dut, 2, pace=0.01, stall=0.0)
    commands = round_robin(bench.config, 100)
    await bench.succeed(commands)
    cycles = bench.totals["CYCLES"]
    report({"words": len(join(commands)), "cycles": cycles})
    assert cycles <= len(join(commands)) + 60


@cocotb.test()
@cocotb.parametrize(
    kind=[
        "opcode",
        "index",
        "unused",
        "second_begin",
        "begin",
        "no_begin",
        "cut",
        "cut_command",
        "empty",
    ]
)
async def illegal_streams_stop_it(dut: Any, kind: str) -> None:
    """Each kind of illegal stream gives its error, and the next stream runs."""
    bench = await running(dut, 3, pace=5)
    for _ in range(4):
        commands = bench.random_stream(12)
        words = spoil(bench.config, commands, bench.rng, kind)
        try:
            read_stream(bench.config, words)
        except CommandError as error:
            code, index = error.code, error.index
        else:
            raise AssertionError(f"{kind} is legal")
        await bench.begin(words)
        await bench.fail(code, SEQUENCER, index)
        for starts in bench.stubs.log.started.values():
            assert all(started < index for _, started in starts), "started an illegal command"
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
@cocotb.parametrize(name=["mover", "matrix", "vector", "weights", "parameters"])
async def faults_name_engine_and_command(dut: Any, name: str) -> None:
    """A fault is an error of the engine's or fetcher's oldest command, if no other an ADDRESS."""
    bench = await running(dut, 4, pace=5)
    numbers = {"weights": WEIGHTS, "parameters": PARAMETERS}
    for _ in range(2):
        commands = bench.random_stream(30)
        victims = [
            number for number, command in enumerate(commands) if NAMES.get(command.opcode) == name
        ]
        bench.stubs.fault = int(bench.rng.choice(victims))
        if name in numbers:  # the engines wait, so that the run does not end before
            bench.stubs.hang = True
            bench.stubs.fault = victims[0]
        index = bench.stubs.fault
        bench.stubs.code = isa.ErrorCode(int(bench.rng.integers(1, len(isa.ErrorCode))))
        await bench.begin(join(commands))
        bench.stubs.hang = False
        engine = numbers.get(name)
        await bench.fail(
            bench.stubs.code if engine is None else isa.ErrorCode.ADDRESS,
            isa.Engine[name.upper()].value if engine is None else engine,
            index,
        )
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
@cocotb.parametrize(client=[*READ_CLIENTS, "write"])
async def bus_errors_name_who_asked(dut: Any, client: str) -> None:
    """An error response is charged to the command that its client is at."""
    bench = await running(dut, 5, pace=5)
    bench.stubs.hang = True
    await bench.begin(join(round_robin(bench.config, 20)))
    await clock_cycles(dut, 1500)
    started = bench.stubs.log.started
    engine, index = {
        "commands": (SEQUENCER, 21),
        "parameters": (PARAMETERS, started["parameters"][-1][1]),
        "weights": (WEIGHTS, started["weights"][-1][1]),
        "mover": (isa.Engine.MOVER.value, started["mover"][0][1]),
        "write": (isa.Engine.MOVER.value, started["mover"][0][1]),
    }[client]
    if client == "write":
        bench.stubs.pulse = 1 << 4
        code = isa.ErrorCode.AXI_WRITE
    else:
        bench.stubs.pulse = 1 << 1 | READ_CLIENTS.index(client) << 2
        code = isa.ErrorCode.AXI_READ
    await bench.fail(code, engine, index)
    bench.stubs.hang = False
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
async def addresses_must_be_aligned(dut: Any) -> None:
    """A base address that no burst can start at is an ADDRESS error before any command."""
    bench = await running(dut, 6)
    for name in ("COMMAND_ADDRESS", "MODEL_BASE", "ARENA_BASE"):
        offset = int(bench.rng.integers(1, bench.config.port))
        bench.stubs.words = join(bench.random_stream(5))
        values = {"COMMAND_ADDRESS": BASE, "COMMAND_LENGTH": 4 * len(bench.stubs.words)}
        values[name] = values.get(name, 0) + offset
        await bench.registers.start(values)
        await bench.fail(isa.ErrorCode.ADDRESS, SEQUENCER, 0)
        await bench.registers.write(name, 0)
    await bench.succeed(bench.random_stream(20))


@cocotb.test()
async def a_run_without_progress_times_out(dut: Any) -> None:
    """A command that waits for ever is a TIMEOUT if that is set, and only then."""
    bench = await running(dut, 7, pace=5)
    stuck = round_robin(bench.config, 1)
    stuck[1].words = isa.WEIGHTS.encode(index=1)
    wait = 1 << isa.Engine.VECTOR.value
    stuck.insert(2, RandomCommand(isa.Opcode.MOVE, wait, 0, isa.MOVE.encode(index=2, wait=wait)))
    stuck[-1].words = isa.END.encode(index=3)
    await bench.begin(join(stuck), timeout=0)
    await clock_cycles(dut, 3000)
    assert await bench.registers.fields("STATUS") == dict.fromkeys(
        ("done", "error", "interrupt"), 0
    ) | {"busy": 1}
    assert await bench.registers.read("MOVER_WAIT") > 2500
    await bench.registers.soft_reset()
    await bench.begin(join(stuck), timeout=500)
    await bench.fail(isa.ErrorCode.TIMEOUT, SEQUENCER, 3)
    assert 500 <= bench.totals["CYCLES"] < 700
    await bench.begin(join(stuck), timeout=100)
    for _ in range(20):
        await clock_cycles(dut, 80)
        dut.moving.value = 1
        await clock_cycles(dut, 1)
        dut.moving.value = 0
    assert not (await bench.registers.fields("STATUS"))["error"], "timed out in spite of progress"
    await bench.fail(isa.ErrorCode.TIMEOUT, SEQUENCER, 3)
    await bench.succeed(bench.random_stream(20), timeout=2000)


@cocotb.test()
async def a_soft_reset_at_any_time_leaves_nothing_behind(dut: Any) -> None:
    """Reset in the middle of a run, wait for memory, and run another stream."""
    bench = await running(dut, 8, pace=10)
    for _ in range(12):
        await bench.begin(join(bench.random_stream(bench.count)))
        await clock_cycles(dut, int(bench.rng.integers(1, 400)))
        await bench.registers.soft_reset()
        assert not bench.stubs.outstanding
        await bench.succeed(bench.random_stream(10))


@cocotb.test()
async def a_doorbell_while_busy_is_ignored(dut: Any) -> None:
    """The run goes on as if it had not been rung."""
    bench = await running(dut, 9, pace=30)
    commands = bench.random_stream(bench.count)
    await bench.begin(join(commands))
    for _ in range(5):
        await bench.registers.write("CONTROL", 1)
    await bench.registers.interrupt(LIMIT)
    assert (await bench.registers.fields("STATUS"))["done"]
    check_order(commands, bench.stubs)


@cocotb.test()
async def the_interrupt_follows_its_enable(dut: Any) -> None:
    """A pending interrupt is a level while it is enabled, until it is cleared."""
    bench = await running(dut, 10, pace=1, stall=0.0)
    await bench.begin(join(bench.random_stream(3)))
    await bench.registers.write("INTERRUPT_ENABLE", 0)
    while not (await bench.registers.fields("STATUS"))["interrupt"]:
        assert not dut.interrupt.value
    assert not dut.interrupt.value
    await bench.registers.write("INTERRUPT_ENABLE", 1)
    assert dut.interrupt.value
    await bench.registers.write("INTERRUPT_CLEAR", 0)
    assert dut.interrupt.value
    await bench.registers.acknowledge()
