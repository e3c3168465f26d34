"""The accelerator in systems of LiteX."""
