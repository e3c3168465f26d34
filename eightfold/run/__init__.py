"""Running models: a `session` on golden or a simulator, its `reference`, and its `report`.

`simulate` runs a compiled network on the simulated accelerator, `inputs` are given or drawn.

Imports compiler, estimate, execute and the simulator; the command line, the kit and campaigns
import it.
"""
