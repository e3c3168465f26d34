"""Campaigns: many cases over all cores of a machine or a farm, which can be stopped and resumed.

A campaign is a list of units of work (`records`), each of which runs some cases of a suite
(`suites`) and is a function of its record alone. `engine` sends them to workers (`farm`, by
`dask.distributed`) and keeps what comes back in a folder: `folder` knows its files, `store` its
database. `repeat` runs one case again.

Imports compiler, conformance, coverage, reference, session, sim; never hw.
"""
