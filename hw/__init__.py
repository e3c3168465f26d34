"""The accelerator in Amaranth: `accelerator` is the top, `ports` the interfaces between its parts.

A room for each part, `blocks` for what several of them use; `requantizer` is a product of its own.
Every component's ports are declared once, in its class: see `blocks.component`.

Imports amaranth, `eightfold.target.config` and `eightfold.isa`; `eightfold.rtl` and the simulation
import it.
"""
