"""Random models of one operator each; `operators` has the table of all makers."""
