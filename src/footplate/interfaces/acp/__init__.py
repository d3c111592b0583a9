"""ACP on standard input and output, for editors: `footplate acp`."""
