"""Channels that nobody needs, or that are always the same, leave the graph.

`intervals` has which codes a channel can have, `borders` at which places a window sees which of its
taps, `links` which tensors have the same channels, `needs` which channels stay, and `compact`
writes the operators without the others.
"""
