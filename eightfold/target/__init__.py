"""What is compiled for: the accelerator's configuration, and how long its memory takes.

Imports `eightfold.common`.
"""
