"""Results of others from files: from closed simulators, lab boards, programs of any kind.

`vectors` reads a folder that ``eightfold vectors`` has written, and `drawn` vouches that it has the
cases that it says, by drawing them again. `words` reads ``results.hex``, `columns` ``results.npz``
and ``results.csv``; `unit_results` takes whichever there is, and `model_results` what was made of
models. `folders` judges all of them.

Imports the units, vectors, judge, profile and model; never hw, sim.
"""
