"""The messages of ACP v1 as structs, one module per matter. Written by `scripts/acp_types.py`."""
