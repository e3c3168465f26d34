"""Steps: pieces of work between whole tensors, and the commands that each one emits.

Imports `emit`, `exact` and the ground; `eightfold.compiler.lower` makes the steps.
"""
