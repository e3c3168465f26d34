"""The vector engine: tables, element-wise operations, reductions, functions of rows.

Imports `memory`, `blocks` and the ports; the accelerator imports it.
"""
