"""Random networks of several operators; `random` draws them."""
