"""Settings, read once into frozen structs: one TOML file, overridden by the environment."""
