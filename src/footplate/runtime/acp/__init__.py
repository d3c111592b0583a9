"""ACP outward: our sessions as an ACP agent, any other ACP command relayed, and the connections to both."""
