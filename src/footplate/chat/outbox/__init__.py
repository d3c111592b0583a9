"""What should stand in each chat, kept in the store, and the workers that make it so."""
