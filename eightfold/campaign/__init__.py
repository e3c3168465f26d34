"""Campaigns: many cases over all cores of a machine or a farm, which can be stopped and resumed.

A campaign is a list of units of work (`records`), each of which runs some cases of a suite
(`suite`) and is a function of its record alone. `engine` sends them to workers (`farm`, by
`dask.distributed`; `worker`) and keeps what comes back in a folder: `folder` knows its files,
`store` its database. `report` says what it has shown.

No suite is known here: packages bring them by entry points. Imports run, sim.simulator; never hw.
"""
