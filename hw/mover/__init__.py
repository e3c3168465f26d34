"""The mover: strided copies, fills and gathers between memory, scratchpad and tables.

Imports `memory`, `blocks` and the ports; the accelerator imports it.
"""
