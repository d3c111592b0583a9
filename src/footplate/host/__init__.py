"""What the machine offers: child processes through the keeper, lines, environments, locks."""
