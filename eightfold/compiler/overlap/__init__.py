"""Commands of the matrix engine that need not wait for the end of the one before."""

from eightfold.compiler.overlap.boundaries import overlapped

__all__ = ["overlapped"]
