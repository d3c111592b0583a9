"""What a client can show, read once from its `initialize`: every encoder asks this and nothing else."""

from __future__ import annotations

from typing import Final

import msgspec

from footplate.acp.schema.start import ClientCapabilities
from footplate.events.base import OptionalRaw


class _ClientMeta(msgspec.Struct, frozen=True):
    terminal_output: bool = False
    footplate: _FootplateClient | None = None


class _FootplateClient(msgspec.Struct, frozen=True):
    coalesce: bool = False
    subagentText: bool = False  # noqa: N815  the wire's own name


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One client's abilities. The defaults are those of a client that declares nothing.

    `terminals` and what follows are extensions, which a client asks for in the `_meta` of its capabilities: a terminal
    that is fed by `_meta`, several deltas as one chunk, the messages of sub-agents.
    """

    forms: bool = False
    notices: bool = False
    compaction: bool = False
    booleans: bool = False
    terminals: bool = False
    coalesce: bool = False
    subagent_text: bool = False
    questions: bool = False
    """Whether questions go by the older transport's own request, where the client has no forms."""

    claude_code: bool = False
    """Whether tool calls carry what editors know from claude-agent-acp."""


_meta_decoder: Final = msgspec.json.Decoder(_ClientMeta)


def read_profile(client: ClientCapabilities, *, claude_code: bool = False) -> Profile:
    """What the client declares."""
    session, asking = client.session, client.elicitation
    extra = _read_extensions(client.meta)
    ours = extra.footplate or _FootplateClient()
    return Profile(
        forms=asking is not None and asking.form is not None,
        notices=session is not None and session.notices is not None,
        compaction=session is not None and session.compaction is not None,
        booleans=(
            session is not None and session.config_options is not None and session.config_options.boolean is not None
        ),
        terminals=extra.terminal_output,
        coalesce=ours.coalesce,
        subagent_text=ours.subagentText or client.subagents is not None,
        claude_code=claude_code,
    )


def _read_extensions(meta: OptionalRaw) -> _ClientMeta:
    try:
        return _ClientMeta() if meta is None else _meta_decoder.decode(meta)
    except msgspec.ValidationError:
        return _ClientMeta()
