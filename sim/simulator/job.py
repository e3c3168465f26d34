"""How a simulation hands its job to the bench: a JSON file with parameters, seed and two paths."""

ENVIRONMENT = "EIGHTFOLD_BENCH"
"""The environment variable that names the job file; `eightfold.sim.simulator.runner` writes both.
"""
