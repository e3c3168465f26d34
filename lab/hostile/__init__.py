"""Hostile models: each command of the tool in a child process with limits, and LiteRT beside it.

`worker` is a process with limits of time and memory, `subject` what it does with a file, `trial`
the verdict on that and on what LiteRT says, with the rules by which LiteRT refuses what is accepted
here on purpose. `mutant` makes a file of a number, by the mutations of `eightfold.model.mutate`.

Imports compiler, conformance, estimate, reference, session, simulate; never hw. Campaigns and tests
import it.
"""
