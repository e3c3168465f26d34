"""Verdicts that explain: another unit's results against golden, and the mistake by its name.

`diagnosis` is the verdict on any `subject`: a reference, its arithmetic, and the named mistakes,
which are choices made otherwise in it. `explain` looks for mistakes that give the results, `rules`
for what cases have in common, and `power` says what the cases could not have told apart.

Subjects are the requantizer, with `forms` that can be claimed and `contracts`, its `arithmetic`,
and its mistakes in `variants`; `dot` products, whole and in steps; byte `tables` of LOGISTIC, TANH
and QUANTIZE; `ranges` of FakeQuantize; and the forms of `tpu_mlir`.
`units` makes the finding of a unit's answers; `models` does the same of whole operators and
networks. Arrays in, sentences out: no files, no adapters.

Imports golden; `units` the units and the profile too, `models` execute, model and the vectors.
"""
