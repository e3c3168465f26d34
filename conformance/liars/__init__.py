"""Implementations that lie: the named mistakes as RTL, to see that the kit names each of them.

Imports adapters, judge and units.
"""
