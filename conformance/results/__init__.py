"""Results of others from files: from closed simulators, lab boards, programs of any kind.

`vectors` reads a folder that ``eightfold vectors`` has written, and vouches that it has the cases
that it says, by drawing them again. `unit_results` reads ``results.hex``, ``results.npz`` and
``results.csv``; `folders` reads what was made of models, and judges all of them.

Imports the units, vectors, judge, profile and model; never hw, sim.
"""
