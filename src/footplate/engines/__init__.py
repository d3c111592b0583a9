"""One folder per agent; nobody above knows a flag of any of them."""
