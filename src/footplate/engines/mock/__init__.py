"""The mock agent: a real ACP agent that plays a script; in this process, or as `footplate mock-agent` on stdio."""
