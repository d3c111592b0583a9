"""Codex through `codex exec --json`: one prompt, one stream of items, nobody to ask."""
