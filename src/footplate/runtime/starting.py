"""How a process for a session is started: its spec, its log so far and the settings as an engine's options. Pure."""

from __future__ import annotations

import msgspec

from footplate.config.settings import Settings, common_settings
from footplate.engines.base import HookSpec, Options
from footplate.events.view import SessionView
from footplate.host.sandbox import read_sandbox
from footplate.runtime.limits import Spent, agent_resources, remaining_money
from footplate.runtime.spec import SessionSpec
from footplate.runtime.standing import reported_cost


def starting_options(
    spec: SessionSpec, view: SessionView, settings: Settings, spent: Spent, hooks: tuple[HookSpec, ...] = ()
) -> Options:
    """The options of the session's next process; what was chosen since it was opened is in the view."""
    common = common_settings(settings, spec.engine)
    return Options(
        **msgspec.structs.asdict(spec.extras),
        cwd=spec.cwd,
        model=view.model or spec.model,
        mode=view.mode or spec.mode,
        effort=view.effort or spec.effort,
        resume=view.resume.value if view.resume is not None else None,
        resumable=view.resumable,
        reported_cost_usd=reported_cost(view),
        fork=_forks(spec, view),
        asks=True,
        partial=True,
        first_turn=len(view.turns) + 1,
        grants=tuple(rule.engine_rule for rule in view.rules if rule.engine_rule is not None),
        max_budget_usd=remaining_money(spec.limits, spent),
        choices=spec.choices,
        hooks=hooks,
        env=spec.env,
        profile=spec.profile,
        json_schema=spec.output_schema,
        sandbox=read_sandbox(common),
        resources=agent_resources(spec.limits, common),
    )


def _forks(spec: SessionSpec, view: SessionView) -> bool:
    """Whether the next process has to leave the conversation of another session.

    Turns do not tell: one that failed before its process attached leaves the session in the other's conversation.
    """
    if not spec.fork_of:  # a spec of version 0.1
        return spec.fork and not view.turns
    return spec.fork and view.resume is not None and view.resume.value == spec.fork_of
