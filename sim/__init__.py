"""Simulation: the simulators, the benches, and the accelerator as a model in numpy.

`simulator` builds and runs, `bench` has drivers, monitors and bus models, `benches` the cocotb
benches, `stimuli` their random inputs, `machine` the model.

Imports hw, golden, `eightfold.isa`, `eightfold.target.config`, `eightfold.rtl`, and the requantizer
cases of `eightfold.conformance.units`; neither the compiler nor models of networks.
"""
