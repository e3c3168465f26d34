"""From a register write to engines at work: registers, run control, command queues, tokens.

Imports `blocks`, `memory` and the ports; the accelerator imports it.
"""
