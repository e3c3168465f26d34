"""A component, or words through its streams, in Amaranth's simulator."""

import random
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import signature
from typing import Any

from amaranth.sim import Simulator


def transfers(
    dut: Any, *, idle: float, stall: float, cycles: int, seed: int, follows: bool = False
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Send random words of 16 bits, with random pauses on both sides.

    ``idle`` and ``stall``: how likely no word is offered on ``i``, and none is taken on ``o``, in a
    cycle. On the way ``i.ready`` must not depend on ``o.ready`` within a cycle, unless it
    ``follows``: then it is 1 where ``o`` is ready or has no word, and 0 elsewhere. A word that was
    offered on ``o`` must stay until it is taken. Returns (cycle, word) of every transfer on ``i``,
    and on ``o``.
    """
    pauses = random.Random(seed)
    sent: list[tuple[int, int]] = []
    received: list[tuple[int, int]] = []

    async def bench(ctx: Any) -> None:
        held, word = None, None
        for cycle in range(cycles):
            # A word that was offered stays until it is taken.
            if word is None and pauses.random() >= idle:
                word = pauses.getrandbits(16)
            put(ctx, dut.i, valid=word is not None, payload=word or 0)
            ready = pauses.random() >= stall
            before = ctx.get(dut.i.ready)
            ctx.set(dut.o.ready, ready)
            if follows:
                assert ctx.get(dut.i.ready) == (ready or not ctx.get(dut.o.valid))
            else:
                assert ctx.get(dut.i.ready) == before, "ready is combinational"
            _, _, accepted, valid, out = await ctx.tick().sample(
                dut.i.ready, dut.o.valid, dut.o.payload
            )
            if word is not None and accepted:
                sent.append((cycle, word))
                word = None
            assert held is None or (valid and out == held), "payload moved while stalled"
            held = out if valid and not ready else None
            if valid and ready:
                received.append((cycle, out))

    simulate(dut, bench)
    return sent, received


def put(ctx: Any, component: Any, **values: Any) -> None:
    """Set ports of a component, or fields of a port, by their names."""
    for name, value in values.items():
        ctx.set(getattr(component, name), value)


def simulate(dut: Any, bench: Callable[[Any], Coroutine[Any, Any, None]]) -> None:
    """Run a testbench on a component with a clock to its end."""
    simulator = Simulator(dut)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def simulated(make: Callable[[], Any]) -> Callable[[Callable], Callable]:
    """Make a coroutine a test: it is given the simulator's context, and the component ``make``s.

    Behind these two it may have arguments as any test.
    """

    def test_of(testbench: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
        @wraps(testbench)
        def test(**arguments: Any) -> None:
            dut = make()
            simulate(dut, partial(testbench, dut=dut, **arguments))

        whole = signature(testbench)
        test.__signature__ = whole.replace(  # type: ignore[attr-defined]
            parameters=list(whole.parameters.values())[2:]
        )
        return test

    return test_of
