"""Functional coverage: what the operators that ran in RTL have shown, in bins."""
