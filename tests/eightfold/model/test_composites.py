"""STABLEHLO_COMPOSITE: operators of a network moved to a subgraph that a composite runs.

Nothing changes but numbers of tensors. What a composite and its body do not agree on is refused.
"""

from copy import deepcopy

import numpy as np
import pytest

from eightfold.cases.networks import network_rng, random_network
from eightfold.common.errors import InputError
from eightfold.model.reader import COMPOSITE
from eightfold.model.schema import OPERATOR_CODES, UNIONS
from eightfold.model.writer import Table, pack, unpack
from eightfold.operators import load_model, run_graph
from eightfold.run.reference.oracle import Oracle
from tests.support.models.edited import Edit, put
from tests.support.networks.layers import Layers

OPTIONS = "StableHLOCompositeOptions"


def outlined(model: bytes, first: int, count: int) -> bytes:
    """Return a model with a composite in place of operators, which a further subgraph has."""
    table = unpack(model)
    subgraphs, codes = table.fields["Subgraphs"], table.fields["OperatorCodes"]
    main = subgraphs[0].fields
    subgraphs.append(deepcopy(subgraphs[0]))
    body = subgraphs[-1].fields
    body["Operators"] = main["Operators"][first : first + count]
    left = main["Operators"][:first] + main["Operators"][first + count :]

    def tensors(operators: list[Table], field: str) -> set[int]:
        return {int(i) for operator in operators for i in operator.fields.get(field, ()) if i >= 0}

    made = tensors(body["Operators"], "Outputs")
    given = set(main["Inputs"].tolist()) | tensors(left, "Outputs")
    read = tensors(body["Operators"], "Inputs") & given
    used = made & (tensors(left, "Inputs") | set(main["Outputs"].tolist()))
    edges = {
        "Inputs": np.array(sorted(read), np.int32),
        "Outputs": np.array(sorted(used), np.int32),
    }
    body.update(edges)
    options = Table(
        OPTIONS,
        Name="a body",
        DecompositionSubgraphIndex=len(subgraphs) - 1,
        CompositeAttributes=np.empty(0, np.uint8),
    )
    fields = {"BuiltinOptions2": options, "BuiltinOptions2Type": UNIONS["BuiltinOptions2"][OPTIONS]}
    composite = Table("Operator", OpcodeIndex=len(codes), **edges, **fields)
    code = OPERATOR_CODES[COMPOSITE]
    codes.append(Table("OperatorCode", DeprecatedBuiltinCode=127, BuiltinCode=code, Version=1))
    main["Operators"] = [*left[:first], composite, *left[first:]]
    return pack(table)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_composites_compute_what_their_bodies_do(oracle: Oracle, seed: int) -> None:
    operators = ("ADD", "CONV_2D", "LESS", "RELU", "RESHAPE", "SELECT_V2", "SPLIT")
    model, inputs = random_network(network_rng(seed), operators=operators, lengths=(6, 12))
    flat = load_model(model)
    within = outlined(model, 2, 3)
    around = outlined(within, 1, 3)  # a composite in the body of one
    for each in (within, around):
        graph = load_model(each)
        assert [op.name for op in graph.operators] == [op.name for op in flat.operators]
        assert (graph.inputs, graph.outputs) == (flat.inputs, flat.outputs)
        got, wanted = run_graph(graph, inputs), run_graph(flat, inputs)
        litert = oracle.run(each, inputs)
        for tensor in set(flat.outputs) - set(flat.inputs):
            np.testing.assert_array_equal(got[tensor], wanted[tensor])
            np.testing.assert_array_equal(got[tensor], litert[tensor])


def _runs(number: int) -> Edit:
    path = ("Subgraphs", 0, "Operators", 1, "BuiltinOptions2")
    return put(*path, DecompositionSubgraphIndex=number)


def _of_other_scale(table: Table) -> None:
    index = int(table.fields["Subgraphs"][1].fields["Inputs"][0])
    path = ("Subgraphs", 1, "Tensors", index, "Quantization")
    put(*path, Scale=np.array([123], np.float32))(table)


def _with_an_input_more(table: Table) -> None:
    body = table.fields["Subgraphs"][1].fields
    body["Inputs"] = np.append(body["Inputs"], body["Outputs"][:1])


def _hands_on(table: Table) -> None:
    body = table.fields["Subgraphs"][1].fields
    body["Outputs"] = body["Inputs"][:1]


REFUSED: dict[str, tuple[Edit, str]] = {
    "no such body": (_runs(7), "runs subgraph 7, and there is none"),
    "itself": (_runs(0), "runs subgraph 0, in which it is"),
    "another scale": (_of_other_scale, "is not as tensor"),
    "an input more": (_with_an_input_more, "other inputs and outputs than its body"),
    "an input handed on": (_hands_on, "hands on an input as it is"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_body_that_does_not_fit_is_refused(name: str) -> None:
    edit, message = REFUSED[name]
    table = unpack(outlined(Layers((2, 3)).then("RELU").then("RELU").then("RELU").model(), 1, 1))
    edit(table)
    with pytest.raises(InputError, match=f"operator 1 {COMPOSITE}.*{message}"):
        load_model(pack(table))
