"""Cases of parts of an implementation, each with golden's result.

`requantize` draws arguments of requantization where it is easiest to be wrong, for any rounding;
our own benches use it too. `requantizer`, `dot`, `tables` and `fake_quantize` are the units that
strangers are judged by, in the terms of their specs; `unit` says what they have in common.

Imports golden, and the profile; never model, hw, sim.
"""
