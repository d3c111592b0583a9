"""Pure reading: what a message or a press of a button means."""
