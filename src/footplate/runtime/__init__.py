"""What drives engines: the runner, runs, and (above them) sessions and the hub."""
