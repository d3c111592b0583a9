"""A chat transport for Footplate in a package of its own: lines over TCP."""
