"""What each operator of a graph becomes: the steps of `eightfold.compiler.steps`.

`lowering` is the table of operators, `call` what one of them works on; the others lower a family
of operators each.

Imports steps, `exact` and `eightfold.operators`; the compiler's own modules import it.
"""
