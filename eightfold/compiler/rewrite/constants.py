"""What depends on constants alone is computed by golden once."""

from eightfold.compiler.rewrite.draft import Draft
from eightfold.execute.known import known_results


def fold(draft: Draft) -> None:
    """Let constants be read for results of constants, and shapes; outputs of the model stay."""
    for operator in draft.each():
        results = known_results(draft.graph, operator, draft.reference)
        if results is None:
            continue
        is_output = draft.outputs() & set(operator.outputs)
        if is_output and not any(map(draft.readers, operator.outputs)):
            continue
        for tensor, data in zip(operator.outputs, results, strict=True):
            like = draft.tensors[tensor]
            constant = draft.constant(like, data, like.quantization)
            if is_output:
                draft.read(tensor, constant)
            else:
                draft.stand_in(tensor, constant)
        if not is_output:
            draft.remove(operator)
        draft.say("constants", [operator.index], "it depends on constants alone")
