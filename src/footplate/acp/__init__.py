"""The Agent Client Protocol: envelopes and messages as values. Pure: bytes in, structs out, and back."""
