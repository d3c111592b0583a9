"""An engine for Footplate in a package of its own: an agent that counts words."""
