"""The matrix engine: walks a MATRIX command, feeds the array, writes its results.

Its fetchers of weights and parameters are here too. Imports `array`, `memory`, `blocks` and the
ports; the accelerator imports it.
"""
