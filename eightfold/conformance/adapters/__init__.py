"""Other people's implementations behind a few lines of Python each.

An *adapter* says how one implementation is asked. `stream` and `memory_mapped` have RTL in a
simulator, `model` anything that computes whole models; `builtin` are those that come with the kit.
`formulas` say what a field is in terms of columns, `bits` and `registers` where it goes, `rtl` has
what adapters of RTL share.
"""
