"""The HTTP surface: resources, each in a file of its own, over the hub."""
