"""The chat bridge: prompts, progress, answers and requests in a chat of any service, each delivered once.

The map of rooms, in the order in which a message walks through them:

    model        what goes through a chat: messages, presses, content, places
    transport    the protocol of a chat service: what it can do, how it is called, how it fails
    inbox/       `poller` stores every update before it confirms it; `intake` hands them out, one at a time per chat
    reading/     pure: what a message or a press means (directives, commands, routing, callback data, who may)
    talk/        what is done about it: prompts, settings, requests, files; one `Follower` per session that has a chat
    drawing/     pure: events and views as text with entities and buttons (markdown, progress, final, requests, diffs)
    outbox/      what should stand in a chat (`slots`) and the worker that makes it so: buckets, retries, marks
    running      `bridge` wires the rooms; `running` keeps a bridge open; `beside` runs it with a server;
                 `plugins`: transports that packages bring

Update -> (reading) -> a call of a session; event -> (drawing) -> a slot of the outbox. No room knows an engine, and
none knows the service: `footplate.interfaces.telegram` is one transport, packages bring others.
"""
