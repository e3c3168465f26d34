"""Operators whose results nobody reads go."""

from eightfold.compiler.rewrite.draft import Draft


def drop_unused(draft: Draft) -> None:
    """Remove operators from whose results no output of the model comes."""
    needed = draft.outputs()
    for operator in reversed(list(draft.operators)):
        if needed.isdisjoint(operator.outputs):
            draft.remove(operator)
            draft.say("unused", [operator.index], "no output comes from it")
        else:
            needed.update(operator.inputs)
