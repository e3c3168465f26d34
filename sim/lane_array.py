"""The lane array datapath seen from a bench: give it a program and a tensor, get a tensor back."""

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import Event
from cocotb.utils import get_sim_time

from eightfold.compiler import LaneProgram, TableProgram
from sim.stream import CLOCK_NS, StreamSink, StreamSource, watchdog


class LaneArray:
    """Drives the streams of `hw.datapath.Datapath`, one operator at a time, without stalls.

    Parameters
    ----------
    dut
        The simulated top module, before its reset.
    """

    def __init__(self, dut: Any) -> None:
        self._sources = {
            name: StreamSource(dut, name)
            for name in ("weights", "parameters", "activations", "table_load", "table_i")
        }
        self._results = _Collector(StreamSink(dut, "results"))
        self._looked_up = _Collector(StreamSink(dut, "table_o"))
        sinks = [self._results.sink, self._looked_up.sink]
        self._streams = [*self._sources.values(), *sinks]

    async def run(
        self, program: LaneProgram | TableProgram, values: np.ndarray
    ) -> tuple[np.ndarray, int]:
        """Return the output tensor, int8, and the cycles from the first word to the last result."""
        if isinstance(program, LaneProgram):
            words = {
                "weights": program.weight_words,
                "parameters": program.parameter_words,
                "activations": program.activation_words(values),
            }
            expected = len(program.streams.destination)
            vectors, cycles = await self._exchange(words, self._results, expected)
            return program.scatter(_rows(vectors, program.config.lanes)), cycles
        _, loading = await self._exchange({"table_load": program.load_words}, None, 0)
        lookups = program.lookup_words(values)
        words = {"table_i": lookups}
        vectors, cycles = await self._exchange(words, self._looked_up, len(lookups))
        return program.gather(_rows(vectors, program.config.width)), loading + cycles

    async def _exchange(
        self, words: dict[str, list[int]], collector: "_Collector | None", expected: int
    ) -> tuple[list[int], int]:
        """Send every stream's words at once; return the collected words and the cycles taken."""
        guard = cocotb.start_soon(watchdog(self._streams))
        started = get_sim_time("ns")
        sent = [cocotb.start_soon(self._sources[name].send(list_)) for name, list_ in words.items()]
        collected = await collector.take(expected) if collector else []
        for task in sent:
            await task
        guard.cancel()
        return collected, round((get_sim_time("ns") - started) / CLOCK_NS)


class _Collector:
    """Keeps a sink's words until as many as asked for are there."""

    def __init__(self, sink: StreamSink) -> None:
        self.sink = sink
        self._words: list[int] = []
        self._wanted = 0
        self._complete = Event()
        sink.add_callback(self._receive)

    def _receive(self, word: int) -> None:
        self._words.append(word)
        if len(self._words) == self._wanted:
            self._complete.set()

    async def take(self, count: int) -> list[int]:
        """Return the next ``count`` words."""
        self._wanted = count
        self._complete.clear()
        if len(self._words) < count:
            await self._complete.wait()
        words, self._words = self._words[:count], self._words[count:]
        return words


def _rows(words: Sequence[int], length: int) -> np.ndarray:
    """Return words as int8 vectors, shape (words, length)."""
    content = b"".join(word.to_bytes(length, "little") for word in words)
    return np.frombuffer(content, dtype=np.int8).reshape(len(words), length)
