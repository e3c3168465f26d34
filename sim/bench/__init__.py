"""What benches are made of: drivers, monitors, scoreboards, bus models. Runs inside a simulator."""
