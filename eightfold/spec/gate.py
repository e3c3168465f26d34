"""What preparation refuses or fills in, as findings."""

from eightfold.common.errors import InputError
from eightfold.execute.known import settle
from eightfold.model.graph import Graph, Operator, Tensor
from eightfold.model.prepare import Limits, Refusal, check_cost, prepare
from eightfold.spec.finding import Finding

_SOURCE = "LiteRT, Prepare"


def check_prepared(graph: Graph, limits: Limits | None = None) -> tuple[Graph, list[Finding]]:
    """Return a graph behind the gate, and as findings what did not pass or was filled in.

    A violation has the words with which `eightfold.model.load_model` refuses the model, or
    `eightfold.execute.known.settled` a computed shape that contradicts it.

    Parameters
    ----------
    graph
        The model, from `eightfold.model.read_model`.
    limits
        Beyond which nothing is computed that shapes may depend on, since no such model is run; the
        defaults of `eightfold.model.Limits` if None.
    """
    prepared, refusals = prepare(graph)
    if not refusals and _is_affordable(prepared, limits or Limits()):
        refusals = settle(prepared)[1]
    findings = [_violation(refusal) for refusal in refusals]
    for operator in prepared.operators:
        filled = (prepared.tensors[index] for index in operator.outputs)
        findings += [_note(operator, t) for t in filled if not t.stated and t.shape]
    return prepared, findings


def _is_affordable(graph: Graph, limits: Limits) -> bool:
    try:
        check_cost(graph, limits)
    except InputError:
        return False
    return True


def _note(operator: Operator, tensor: Tensor) -> Finding:
    return Finding(
        severity="note",
        operator=operator.index,
        operator_name=operator.name,
        tensor=tensor.index,
        tensor_name=tensor.name,
        rule="the file states a tensor's shape",
        source=_SOURCE,
        found=f"no shape, computed {list(tensor.shape)}",
    )


def _violation(refusal: Refusal) -> Finding:
    tensor = refusal.tensor
    return Finding(
        severity="violation",
        operator=refusal.operator.index,
        operator_name=refusal.operator.name,
        tensor=None if tensor is None else tensor.index,
        tensor_name=None if tensor is None else tensor.name,
        rule="a result is declared as the kernel computes it" if tensor else "the kernel takes it",
        source=_SOURCE,
        found=refusal.message,
    )
