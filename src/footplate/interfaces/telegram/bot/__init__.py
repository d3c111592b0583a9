"""The Bot API: its values, its errors, and a thin client."""
