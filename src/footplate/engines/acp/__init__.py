"""Any agent that speaks ACP: its messages become events, commands become its messages. Pure."""
