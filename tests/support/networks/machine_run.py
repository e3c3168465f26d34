"""Compiled networks on the machine model, every tensor against golden."""

import numpy as np

from eightfold.compiler import Compiled, CompiledNetwork, compile_network
from eightfold.config import AcceleratorConfig
from eightfold.execute import run_graph
from eightfold.golden.quantization import Reference
from eightfold.model import Graph, Tensor
from eightfold.sim.machine.machine import Machine, check_tokens

Tensors = dict[int, np.ndarray]


def random_values(graph: Graph, seed: int = 0) -> Tensors:
    """Return the graph's inputs, integers of [-128, 127] each."""
    rng = np.random.default_rng(seed)
    tensors = [graph.tensors[index] for index in graph.inputs]
    return {t.index: rng.integers(-128, 128, t.shape).astype(t.dtype) for t in tensors}


def run_compiled(compiled: Compiled, graph: Graph, inputs: Tensors, seed: int = 0) -> Tensors:
    """Return what a stream leaves in the arena, after a proof that its tokens suffice."""
    check_tokens(compiled.config, compiled.words)
    base = len(compiled.model)
    memory = np.zeros(base + compiled.arena, dtype=np.uint8)
    memory[:base] = np.frombuffer(compiled.model, dtype=np.uint8)
    for tensor, offset in compiled.inputs.items():
        content = inputs[tensor].reshape(-1).view(np.uint8)
        memory[base + offset : base + offset + content.size] = content
    machine = Machine(compiled.config, memory, (0, base), (base, compiled.arena), seed=seed)
    machine.run(compiled.words)
    return {
        tensor: _tensor(memory, base + offset, graph.tensors[tensor])
        for tensor, offset in compiled.outputs.items()
    }


def _tensor(memory: np.ndarray, start: int, tensor: Tensor) -> np.ndarray:
    size = int(np.prod(tensor.shape, dtype=int)) * tensor.dtype.itemsize
    return memory[start : start + size].view(tensor.dtype).reshape(tensor.shape)


def expect_golden(
    graph: Graph,
    inputs: Tensors,
    config: AcceleratorConfig,
    keep: bool = True,
    reference: Reference = "litert",
) -> CompiledNetwork:
    """Compile for the accelerator alone, run, compare; return the compiled network."""
    network = compile_network(graph, config, reference, keep=keep)
    (segment,) = network.segments
    assert segment.compiled is not None
    expected = run_graph(graph, inputs, reference)
    got = run_compiled(segment.compiled, graph, inputs)
    wanted = {t for operator in graph.operators for t in operator.outputs}
    assert set(got) == (wanted if keep else wanted & set(graph.outputs))
    for tensor, values in got.items():
        assert values.dtype == expected[tensor].dtype
        np.testing.assert_array_equal(values, expected[tensor], err_msg=f"tensor {tensor}")
    return network
