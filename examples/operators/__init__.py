"""A network in which every operator of the accelerator occurs once."""
