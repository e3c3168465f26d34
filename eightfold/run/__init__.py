"""Running models: a `session` on golden or a simulator, its `reference`, and its `report`.

`simulate` runs a compiled network on the accelerator, simulated or on a board.

Imports compiler, estimate, execute and the simulator; the command line, the kit and campaigns
import it.
"""
