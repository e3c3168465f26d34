"""The accelerator in systems of LiteX: without a processor, and with VexRiscv."""
