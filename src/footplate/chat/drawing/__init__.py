"""Pure drawing: what people see, as text with entities and buttons."""
