"""The schema of the SQLite store, as numbered steps forward; each step is one transaction."""
