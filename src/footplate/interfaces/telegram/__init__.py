"""The Telegram bridge: prompts, progress, answers and requests in a chat, each delivered once.

The map of rooms, in the order in which a message walks through them:

    bot/         the Bot API: values (`wire`, `content`), errors (`refusals`), the client
    inbox/       `poller` stores every update before it confirms it; `intake` hands them out, one at a time per chat
    reading/     pure: what a message or a press means (directives, commands, routing, callback data, who may)
    talk/        what is done about it: prompts, settings, requests, files; one `Follower` per session that has a chat
    drawing/     pure: events and views as text with entities and buttons (markdown, progress, final, requests, diffs)
    outbox/      what should stand in a chat (`slots`) and the worker that makes it so: buckets, retries, probes
    running      `bridge` wires the rooms; `command` is `footplate telegram`; `setup`, `takopi`: first steps

Update -> (reading) -> a call of a session; event -> (drawing) -> a slot of the outbox. No room knows an engine.
"""
