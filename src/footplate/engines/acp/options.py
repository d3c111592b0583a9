"""Which options of a session ACP can carry out; the others are refused by name."""

from __future__ import annotations

from footplate.engines.base import Options
from footplate.errors import UnsupportedOption


def refuse_unsupported(engine: str, options: Options) -> None:
    """Raise `UnsupportedOption` for the first option that ACP has no way to say."""
    asked = {
        "a fork of a session": options.fork,
        "a chosen session id": options.session_id is not None,
        "a limit of turns": options.max_turns is not None,
        "a limit of money": options.max_budget_usd is not None,
        "structured output": bool(options.json_schema),
        "a system prompt of one's own": bool(options.system_prompt or options.append_system_prompt),
        "sub-agents of one's own": bool(options.agents),
        "hooks": bool(options.hooks),
        "tools of the host": bool(options.servers),
        "further folders": bool(options.add_dirs),
        "the one-shot form": options.one_shot,
    }
    for option, is_asked in asked.items():
        if is_asked:
            raise UnsupportedOption(engine, option, "leave it out")
