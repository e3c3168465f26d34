"""The memory outside of the accelerator: how long it takes, and when its bus has which burst.

Who simulates it and who estimates cycles mean the same memory by it.
"""

from eightfold.target.memory.timing import IDEAL, PROFILES, MemoryTiming

__all__ = ["IDEAL", "PROFILES", "MemoryTiming"]
