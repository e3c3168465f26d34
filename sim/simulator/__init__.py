"""Verilator and Icarus: builds kept by content, simulations started, watched and judged.

Imports `eightfold.rtl`; everything that simulates imports it.
"""
