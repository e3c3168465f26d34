"""The serial line between a host and a board, unless something else is said."""

BAUD = 3_000_000
"""Bits per second."""

PATIENCE = 1.0
"""Seconds that an answer may take, beside the time of its bytes on the line."""
