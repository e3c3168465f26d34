"""The accelerator in systems on FPGAs: a module of LiteX, systems around it, their simulation."""
