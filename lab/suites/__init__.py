"""The suites that test this hardware: what campaigns of a checkout run, a file for each suite.

A suite says all that the command line, reports and documents know of it, as
`eightfold.campaign.suite.Suite`; ``lab/pyproject.toml`` names it as an entry point. `common` has
what several share, `shrink` makes failures smaller.
"""
