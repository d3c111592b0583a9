"""What a client asks for when it opens a session: folders, instructions, options of the engine's own."""

from __future__ import annotations

from pathlib import Path

import msgspec

from footplate.acp.content import read_prompt
from footplate.acp.failures import invalid_params
from footplate.acp.schema.sessions import (
    ForkSessionRequest,
    LoadSessionRequest,
    NewSessionRequest,
    ResumeSessionRequest,
    SystemPrompt,
)
from footplate.acp.session_meta import RawMessages, SessionMeta, read_session_meta
from footplate.engines.base import Engine
from footplate.engines.tuning import Extras, Tunable, Tuning
from footplate.errors import InvalidValue
from footplate.events.content import TextBlock, text_of
from footplate.runtime.acp.servers import read_servers, read_tuned
from footplate.runtime.spec import SessionSpec

Opening = NewSessionRequest | LoadSessionRequest | ResumeSessionRequest | ForkSessionRequest


class Wishes:
    """One opening, read. `unknown` names options that the engine has no place for."""

    def __init__(self, engine: Engine, params: Opening, env: dict[str, str]) -> None:
        meta = read_session_meta(params.meta)
        self.raw: RawMessages | None = meta.raw
        servers = read_servers(engine, params.mcp_servers or ())
        self._env = env
        tuning = Tuning()
        if meta.options is not None and isinstance(engine, Tunable):
            tuning = engine.read_options(meta.options)
        self._servers = {**read_tuned(tuning.servers), **servers}
        self.unknown = tuning.unknown
        self._tuning = msgspec.structs.replace(tuning, extras=_extras(engine, params, meta, tuning.extras))

    def applied(self, spec: SessionSpec) -> SessionSpec:
        """The session's spec with all that was asked for; what was not asked for stays."""
        given = self._tuning
        limits = spec.limits
        if given.max_budget_usd is not None:
            limits = msgspec.structs.replace(limits, cost_usd=given.max_budget_usd)
        return msgspec.structs.replace(
            spec,
            model=given.model or spec.model,
            mode=given.mode or spec.mode,
            effort=given.effort or spec.effort,
            limits=limits,
            output_schema=given.output_schema or spec.output_schema,
            env={**spec.env, **given.env, **self._env},
            mcp=self._servers or spec.mcp,
            extras=given.extras if given.extras != Extras() else spec.extras,
        )


def read_folder(name: str, path: str) -> str:
    """A folder that a client names. Raises `InvalidValue` for a relative path."""
    if not Path(path).is_absolute():
        raise InvalidValue(name, path, "an absolute path")
    return path


def _extras(engine: Engine, params: Opening, meta: SessionMeta, extras: Extras) -> Extras:
    can = engine.capabilities()
    folders = (*(params.additional_directories or ()), *meta.additional_roots)
    if folders:
        if not can.add_dirs:
            raise invalid_params(f"{engine.title} works in one folder only; leave additionalDirectories empty")
        known = (*extras.add_dirs, *(read_folder("additionalDirectories", each) for each in folders))
        extras = msgspec.structs.replace(extras, add_dirs=tuple(dict.fromkeys(known)))
    if params.system_prompt is not None:
        if not can.system_prompt:
            raise invalid_params(f"{engine.title} takes no instructions of a client; leave systemPrompt out")
        return _instruct(extras, params.system_prompt)
    if isinstance(meta.system_prompt, str):
        return msgspec.structs.replace(extras, system_prompt=meta.system_prompt or extras.system_prompt)
    return msgspec.structs.replace(extras, append_system_prompt=meta.system_prompt.append)


def _instruct(extras: Extras, given: SystemPrompt) -> Extras:
    """With a client's instructions: beside the engine's own, or in their place."""
    blocks = read_prompt(given.content)
    if not blocks or not all(isinstance(block, TextBlock) for block in blocks):
        raise invalid_params("systemPrompt.content: at least one block, and of text only")
    text = text_of(blocks)
    if given.mode == "append":
        return msgspec.structs.replace(extras, append_system_prompt=text)
    if given.mode == "override":
        return msgspec.structs.replace(extras, system_prompt=text)
    raise invalid_params(f"systemPrompt.mode is {given.mode!r}; write append or override")
