"""Claude Code: its command line, its stream of JSON lines, its control protocol."""
