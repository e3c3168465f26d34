"""The conformance kit: cases that tell a right implementation from a wrong one, and a verdict.

`units` has cases of the parts of an implementation, a requantizer for example,
and `vectors` writes them as files. The same seed gives the same bytes on every machine. `profile`
says what is claimed of an implementation, and within which limits. `adapters` ask other people's
implementations, whose `answers` are judged by `judge`; `verdict` has what that says, and `report`
writes it. `results` reads answers from files.

Imports model, spec, execute, golden, cases; `adapters` import sim too.
"""
