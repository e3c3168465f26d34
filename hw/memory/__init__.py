"""Bytes: the AXI4 port's reader and writer, fetchers of runs, and the scratchpad.

Imports `blocks` and the ports; every engine imports it.
"""
