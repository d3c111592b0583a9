"""Traces of what agents do: stored events become spans, and those go to a collector, where the settings name one."""
