"""Ground floor: the values of the product. No I/O, no clock, no logging, no async."""
