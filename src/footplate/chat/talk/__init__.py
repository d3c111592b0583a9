"""What is done about messages and presses, and what is shown of sessions."""
