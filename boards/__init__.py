"""The accelerator in systems on FPGAs: a module of LiteX, systems around it, their simulation."""

import sys

import litex.soc.interconnect  # noqa: F401 - what it leaves in sys.modules goes below

# LiteX keeps a former name alive by an object that prints a warning and sleeps for two seconds
# when anything asks it for an attribute, as `inspect` does with every entry of sys.modules.
sys.modules.pop("litex.soc.interconnect.stream_sim", None)
