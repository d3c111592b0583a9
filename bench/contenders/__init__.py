"""One file per contender: a program that reads the stream of a fake CLI and reports the CPU it spent."""
