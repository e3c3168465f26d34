"""Functional coverage: what random models must have shown on the accelerator.

`matrix`, `elementwise`, `rows` and `movement` say of each operator which bins there are, in the
terms of `points`. `bins` samples operators that have run, and names the bins that no model can hit.
`eightfold.campaign.coverage` holds the hits against the floor.

Imports compiler, campaign, sim.machine; never hw.
"""
