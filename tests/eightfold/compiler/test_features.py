"""What a machine may do without: what the compiler refuses or leaves to golden, what is said."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from eightfold import isa
from eightfold.cases.operators import OPERATORS, accelerator_case, case_rng
from eightfold.common.errors import InputError
from eightfold.compiler import HARDWARE, compile_network, computed
from eightfold.compiler.exact import CompileError
from eightfold.compiler.lower.lowering import NEEDS, lower
from eightfold.hw.control.command_rules import word_rules
from eightfold.isa.decode import CommandError, read_stream
from eightfold.model.inputs import random_inputs
from eightfold.operators import load_model, run_graph
from eightfold.operators.folding import with_folded_operands
from eightfold.target.config import FEATURES, PRESETS, AcceleratorConfig
from lab.hostile.subject import MachineSession
from tests.eightfold.run.test_session import DIGITS
from tests.support.command import Call
from tests.support.hardware.command_streams import gather, stream, vector
from tests.support.networks.layers import Written

NANO = PRESETS["nano"]
LEAN = NANO.replace(**dict.fromkeys(FEATURES, False))


def features(operator: str, seed: int) -> set[str]:
    """Return what the steps of a drawn operator need."""
    graph = load_model(accelerator_case(operator, case_rng(operator, seed))[0])
    known = with_folded_operands(graph, "litert")
    found: set[str] = set()
    for each in known.operators:
        try:
            found |= {step.feature for step in lower(known, each, NANO, "litert").steps}
        except CompileError:  # for another reason
            return set()
    return found - {""}


@pytest.mark.parametrize("operator", sorted(HARDWARE & {*OPERATORS}))
def test_what_is_said_of_an_operator_is_what_its_steps_need(operator: str) -> None:
    feature, where = NEEDS.get(operator, ("", ""))
    for seed in range(3):
        found = features(operator, seed)
        assert found <= {feature}
        assert where or found == {feature} - {""}
    assert (operator in computed(LEAN)) == (not feature or bool(where))


def two_operators() -> bytes:
    net = Written()
    y = net.add("SOFTMAX", [net.given(2, 6)], options={"beta": 1.0})
    return net.model(net.add("GATHER", [y, net.integers([4, 0, 5])], y, {"axis": 1}))


def test_all_that_is_left_out_is_refused_in_one_line_or_left_to_golden() -> None:
    graph = load_model(two_operators())
    with pytest.raises(InputError) as raised:
        compile_network(graph, LEAN)
    assert str(raised.value) == (
        "the accelerator cannot compute 2 operators; use --fallback golden: operator 0 SOFTMAX: "
        "needs rows, which the configuration leaves out (rows = false); operator 1 GATHER: needs "
        "gather, which the configuration leaves out (gather = false)"
    )
    network = compile_network(graph, LEAN, fallback=True)
    assert sorted(network.reasons) == [0, 1]


def test_what_is_left_to_golden_equals_golden() -> None:
    graph = load_model(DIGITS)
    inputs = random_inputs(graph, seed=3)
    with MachineSession(config=LEAN, fallback="golden") as session:
        ran = session.run(DIGITS, inputs)
    for tensor in graph.outputs:
        np.testing.assert_array_equal(ran.tensors[tensor], run_graph(graph, inputs)[tensor])


@pytest.mark.parametrize("name", FEATURES)
def test_a_stream_for_another_machine_is_refused(name: str) -> None:
    without = NANO.replace(**{name: False})
    words = isa.configuration_words(without)
    assert isa.configuration_words(NANO)[0] == words[0]
    changed = isa.configuration_words(NANO)[1] ^ words[1]
    assert changed.bit_count() == 1, "one bit tells it"
    assert word_rules(without)[isa.Opcode.BEGIN][3].expected == words[1]
    for made, run in ((NANO, without), (without, NANO)):
        with pytest.raises(CommandError, match=r"memories .* \(VERSION\)"):
            read_stream(run, stream(made, []))


def test_a_command_for_what_is_left_out_is_illegal() -> None:
    rows = vector(run=4, row=isa.Row.SUM)
    for item, lacks in ((gather(run=1), "GATHER needs gather"), (rows, "VECTOR needs rows")):
        read_stream(NANO, stream(NANO, [item]))
        with pytest.raises(CommandError, match=rf"command 1: {lacks}, .* \(ILLEGAL_COMMAND\)"):
            read_stream(LEAN, stream(LEAN, [item]))
    read_stream(LEAN, stream(LEAN, [vector(run=4)]))


def test_a_region_that_cannot_be_reached_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AcceleratorConfig, "memory_bits", 12)
    with pytest.raises(InputError, match=r"a region of [\d,]+ bytes, and .* reaches 4,096 of one"):
        compile_network(load_model(DIGITS), NANO)


def test_the_list_of_operators_marks_what_is_left_out(tmp_path: Path, call: Call) -> None:
    file = tmp_path / "lean.toml"
    file.write_text("rows = false\n")
    _, out, _ = call("ops", "--json", "--config", file)
    limits = {each["name"]: each["limit"] for each in json.loads(out)}
    marked = {name for name, limit in limits.items() if re.match("left out.*: rows = false", limit)}
    assert marked == {name for name, (feature, _) in NEEDS.items() if feature == "rows"}
    assert limits["MEAN"].startswith("left out along the last axis: rows = false")
