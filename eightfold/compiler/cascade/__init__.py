"""Cascades: steps that run strip by strip, so that the tensors between them never go to memory.

`row_wise` says what steps do row by row, `schedule` in which order strips are loaded, computed,
kept and stored, `step` is the cascade as one step of a program, `trials` its cycles, about;
`search` chooses. Imports `steps`, `emit` and the ground; the compiler's own modules import it.
"""
