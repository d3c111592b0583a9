"""Where everything durable lives: session logs, raw frames, journals, documents, queues, and the index over them."""
