"""Schema 3: a journal that was deleted leaves its number here until its entries are removed, a few at a time."""

from __future__ import annotations

STATEMENTS = ("CREATE TABLE journals_gone (num INTEGER PRIMARY KEY)",)
