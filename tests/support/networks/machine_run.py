"""Compiled networks on the machine model, every tensor against golden."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from eightfold.compiler import Compiled, best_cascades, compile_network
from eightfold.compiler.network import Strategy
from eightfold.compiler.passes import prepare
from eightfold.compiler.rewrite.draft import Rewritten, rebuild
from eightfold.compiler.rewrite.rules import RULES
from eightfold.golden.quantization import Reference
from eightfold.isa import Space
from eightfold.isa.decode import line, read_stream
from eightfold.isa.issued import Interval
from eightfold.model import Graph
from eightfold.operators import load_model, run_graph
from eightfold.sim.machine.accesses import accesses
from eightfold.target.config import AcceleratorConfig
from lab.hostile.subject import run_compiled, run_prepared

Tensors = dict[int, np.ndarray]
Model = Graph | bytes | Path


def random_values(graph: Graph, seed: int = 0) -> Tensors:
    """Return the graph's inputs, integers of [-128, 127] each."""
    rng = np.random.default_rng(seed)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return {t.index: rng.integers(-128, 128, t.shape).astype(t.dtype) for t in tensors}


def compile_stream(model: Model, config: AcceleratorConfig, **options: Any) -> Compiled:
    """Compile for the accelerator alone, with options of `compile_network`; return the stream."""
    (segment,) = compile_network(_read(model), config, **options).segments
    assert segment.compiled is not None
    return segment.compiled


def expect_golden(
    model: Model,
    config: AcceleratorConfig,
    inputs: Tensors | int = 0,
    keep: bool = True,
    reference: Reference = "litert",
    cascades: Strategy | None = best_cascades,
) -> Compiled:
    """Compile for the accelerator alone, run, compare; return the stream.

    ``inputs`` are tensors, or the seed of `random_values`.
    """
    graph = _read(model)
    inputs = _inputs(graph, inputs)
    stream = compile_stream(graph, config, reference=reference, keep=keep, cascades=cascades)
    expected = run_graph(graph, inputs, reference)
    got = run_compiled(stream, graph, inputs)
    wanted = {t for operator in graph.operators for t in operator.outputs}
    assert set(got) == (wanted if keep else wanted & set(graph.results))
    for tensor, values in got.items():
        assert values.dtype == expected[tensor].dtype
        np.testing.assert_array_equal(values, expected[tensor], err_msg=f"tensor {tensor}")
    return stream


def expect_rewritten(
    graph: Graph,
    config: AcceleratorConfig,
    inputs: Tensors | int = 0,
    keep: bool = True,
    reference: Reference = "litert",
    *,
    rules: Collection[str] = RULES,
) -> Rewritten:
    """Rewrite by some rules, compile, run, rebuild, compare with golden; return what was rewritten.

    Every computed tensor is compared, or with ``keep=False`` the outputs; golden computes none of
    these for want of the network's. ``inputs`` are those of `expect_golden`.
    """
    inputs = _inputs(graph, inputs)
    without = set(RULES) - set(rules)
    prepared = prepare(graph, config, reference, fallback=True, keep=keep, no_rewrite=without)
    rewritten = prepared.rewritten
    values = run_prepared(prepared, inputs, reference)
    computed = {t for operator in graph.operators for t in operator.outputs}
    wanted = computed if keep else computed & set(graph.results)
    # The network gives its outputs; only what lies between may be computed again.
    held = rewritten.held.items()
    whole = {t for t, place in held if place.channels is None and place.tensor in values}
    assert computed & set(graph.results) <= whole
    expected = run_graph(graph, inputs, reference)
    got = rebuild(rewritten, values, wanted, reference)
    for tensor in wanted:
        assert got[tensor].dtype == expected[tensor].dtype
        np.testing.assert_array_equal(got[tensor], expected[tensor], err_msg=f"tensor {tensor}")
    return rewritten


def _read(model: Model) -> Graph:
    return model if isinstance(model, Graph) else load_model(model)


def _inputs(graph: Graph, inputs: Tensors | int) -> Tensors:
    return random_values(graph, inputs) if isinstance(inputs, int) else inputs


def expect_covered(stream: Compiled) -> None:
    """Check that every command says all bytes that it reads and writes: tokens rely on it."""
    commands = read_stream(stream.config, stream.words)
    for issued, command in zip(stream.issued, commands, strict=True):
        touched = accesses(stream.config, command)
        for sets, spans in ((touched.reads, issued.reads), (touched.writes, issued.writes)):
            for space, offsets in sets.items():
                if space == Space.MODEL or not offsets.size:
                    continue
                inside = [said(span, offsets) for span in spans if span.space == space]
                assert np.any(inside, axis=0).all(), line(command)


def said(interval: Interval, offsets: np.ndarray) -> np.ndarray:
    """Return which of some bytes an interval has."""
    inside = (offsets >= interval.start) & (offsets < interval.stop)
    if interval.pitch:
        inside &= (offsets - interval.start) % interval.pitch < interval.size
    return inside
