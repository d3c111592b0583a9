"""The surfaces: each turns its wire into commands, and events into its wire, and nothing else."""
