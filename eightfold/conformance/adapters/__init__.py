"""Other people's implementations behind a few lines of Python each.

An *adapter* says how one implementation is asked. `stream` and `memory_mapped` have RTL in a
simulator, `model` anything that computes whole models; `builtin` are those that come with the kit.
"""
