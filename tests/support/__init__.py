"""What tests are made of: random and directed models, networks, hardware; no test is here."""
