"""The MAC array: lanes of multipliers with partial sums and a requantizer each.

Imports `blocks`; the matrix engine imports it.
"""
