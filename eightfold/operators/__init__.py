"""Operators: one record says everything that an operator is, and all that reads it.

`definition.Definition` is the record; `registry.OPERATORS` has one for each operator, from the
modules of their kinds: `convolution`, `images`, `elementwise`, `reduction`, `movement`,
`recurrent`. It is read by

- `gate` and `load`: what a model must be before anything runs, by golden's arithmetic of shapes,
  and what it may cost; and which operators the host computes, between float32 and the accelerator's
  bytes. Golden, compiler and estimate see only graphs whose declared shapes are the computed ones.
- `run`: operators and whole graphs in numpy, one inference or many, and the arithmetic of one
  element, as text. `call` is what one operator works on, `stacks` has the rules of computing many
  inferences as one.
- `folding`: what a graph computes whatever its inputs are.
- `spec`: the spec's sentences as numbered rules, derived from the records' rows, which findings
  cite.
- `check`: a model beside the spec's operator table, whose words are in `rules`, as findings;
  ``docs/operators.md`` is generated from the same rows.

docs/add-an-operator.md adds one. Imports golden and `eightfold.model`; compiler, run, conformance
and laboratory import it.
"""

from eightfold.operators.call import Node, OperatorCall, quantization_of, window_of
from eightfold.operators.check import (
    Finding,
    check_model,
    check_prepared,
    findings_as_json,
    has_violation,
    render,
)
from eightfold.operators.gate import open_operands, prepare, unsupported
from eightfold.operators.load import Limits, host_operators, load_int8, load_model
from eightfold.operators.registry import OPERATORS, SPEC_ROWS, spec_row
from eightfold.operators.run import (
    SUPPORTED,
    count_macs,
    explain_element,
    run_graph,
    run_graphs,
    run_operator,
)

__all__ = [
    "OPERATORS",
    "SPEC_ROWS",
    "SUPPORTED",
    "Finding",
    "Limits",
    "Node",
    "OperatorCall",
    "check_model",
    "check_prepared",
    "count_macs",
    "explain_element",
    "findings_as_json",
    "has_violation",
    "host_operators",
    "load_int8",
    "load_model",
    "open_operands",
    "prepare",
    "quantization_of",
    "render",
    "run_graph",
    "run_graphs",
    "run_operator",
    "spec_row",
    "unsupported",
    "window_of",
]
