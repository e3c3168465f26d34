"""Verdicts that explain, of whole models: an operator's results against golden, and why not.

`subject` is one run of an operator, whose parameters can be changed. `scaling` takes apart what
requantizes, so that the mistakes of requantizers are computed inside every operator; `windows`,
`values` and `movement` have the mistakes of operators, `runtimes` what LiteRT's optimized kernels
and XNNPACK compute in place of the reference; `mistakes` has the table of all, and says which of
them runs could not have told apart. `finding` says what an answer has shown, and all of that in
sentences.

Imports golden, execute, model, the vectors and the judge of units; no adapters.
"""
