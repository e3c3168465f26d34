"""Cases for the judges of other people's hardware."""
