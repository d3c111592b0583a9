"""Telegram as a transport of the chat bridge (`footplate.chat`), and what is its own.

bot/         the Bot API: what only it says (`wire`), errors (`refusals`), the client
transport    the protocol of `footplate.chat.transport` as calls of the Bot API
heights      the highest message ids: how an uncertain message is found again
opening      the bot's lock and its bridge; `beside` a server, or alone by `command`
first steps  `setup`, `takopi` (settings from there), `checkup` for `footplate doctor`
"""
