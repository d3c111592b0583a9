"""Sessions: list, open, look at, put aside, fork, close, delete, export."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.responses import StreamingResponse

from footplate.errors import InvalidValue, PermissionDenied, SessionExists, UnknownSession
from footplate.events.ids import SessionId
from footplate.events.model import ConfigOption, SessionState
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.projects import place
from footplate.interfaces.http.routing import Routes
from footplate.interfaces.http.shapes import SessionDetail, SessionInfo, SessionList
from footplate.runtime.choices import choose_options
from footplate.runtime.limits import Limits
from footplate.runtime.projects import Workplace
from footplate.runtime.run import RunRequest, choose_engine
from footplate.runtime.session import Session
from footplate.runtime.spec import SessionSpec
from footplate.store.projection import SessionRow, mark_of
from footplate.store.values import SessionFilter

routes = Routes("sessions")


class NewSession(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How to open a session: in a folder (`cwd`), or in a project of the settings and perhaps on a branch of it.

    `resume` is the engine's own id, or a resume line, of a conversation to go on with.
    """

    cwd: Annotated[str, Meta(description="an absolute folder that exists; needed unless `project` is given")] = ""
    project: Annotated[str, Meta(description="a project of the settings, instead of `cwd`")] = ""
    branch: Annotated[str, Meta(max_length=200, description="its worktree; made where there is none")] = ""
    engine: str = ""
    model: str = ""
    mode: str = ""
    effort: str = ""
    title: str = ""
    resume: str = ""
    limits: Limits = Limits()
    env: dict[str, str] = {}
    profile: str = ""
    output_schema: dict[str, object] | None = None


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which sessions to list; what is not given does not matter. `q` looks in title, folder and id."""

    state: tuple[SessionState, ...] = ()
    engine: str = ""
    cwd: str = ""
    q: str = ""
    archived: bool = False
    asking: bool = False
    after: str | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


@routes.get("/api/sessions", scope="read", summary="List sessions, the latest active first", answer=SessionList)
async def list_sessions(call: Call, query: ListQuery) -> SessionList:
    only = SessionFilter(
        states=query.state,
        engine=query.engine,
        cwd=query.cwd,
        asking=query.asking,
        archived=query.archived,
        text=query.q,
    )
    found: list[SessionRow] = []
    after = query.after
    with call.while_connected():
        while len(found) < query.limit:
            page = await call.api.store.projections.sessions(only, after=after, limit=query.limit)
            found += [row for row in page.items if _reached(call, row)]
            after = page.after
            if after is None:
                break
    shown = found[: query.limit]
    if len(found) > len(shown):
        after = mark_of(shown[-1])
    return SessionList(sessions=tuple(map(SessionInfo.of, shown)), after=after)


def _reached(call: Call, row: SessionRow) -> bool:
    return call.grant.reaches(row.session, row.cwd)


@routes.post(
    "/api/sessions", scope="drive", summary="Open a session", status=201, answer=SessionInfo, problems=(404, 409, 502)
)
async def create_session(call: Call, body: NewSession) -> SessionInfo:
    return await _create(call, body)


@routes.put(
    "/api/sessions/{session}",
    scope="drive",
    summary="The session of an id that the caller chose, opened if there is none",
    answer=SessionInfo,
    problems=(404, 409, 502, 504),
)
async def ensure_session(call: Call, body: NewSession) -> SessionInfo:
    """A session that is there gets the mode, the model and the effort of the body; the rest is for a new one."""
    name = SessionId(call.params["session"])
    if not await call.api.hub.exists(name):
        with suppress(SessionExists):  # another caller was first
            return await _create(call, body, name=name)
    live = await call.session()
    if body.mode:
        await live.set_mode(body.mode, call.principal)
    if body.model:
        await live.set_model(body.model)
    if body.effort:
        await live.set_effort(body.effort)
    return await describe(call, live.id)


async def _create(call: Call, body: NewSession, *, name: str = "") -> SessionInfo:
    where = await _choose_place(call, body)
    wanted = RunRequest(prompt="-", engine=body.engine, resume=body.resume)
    engine, token = choose_engine(wanted, call.api.settings, default=where.engine)
    spec = SessionSpec(
        engine=engine.name,
        cwd=where.cwd,
        model=body.model,
        mode=body.mode,
        effort=body.effort,
        limits=body.limits,
        env=body.env,
        profile=body.profile,
        output_schema="" if body.output_schema is None else msgspec.json.encode(body.output_schema).decode(),
    )
    made = await call.api.hub.create(spec, title=body.title, resume=token, name=name)
    return await describe(call, made.id)


async def _choose_place(call: Call, body: NewSession) -> Workplace:
    """The folder that is meant, if the caller reaches it, and the engine that goes with it."""
    if body.project:
        if body.cwd:
            raise InvalidValue("cwd", body.cwd, "none beside `project`, which has its own")
        return await place(call, body.project, body.branch)
    if body.branch:
        raise InvalidValue("branch", body.branch, "none without `project`")
    if not Path(body.cwd).is_absolute():
        raise InvalidValue("cwd", body.cwd, "an absolute folder, or name a `project`")
    if not call.grant.reaches_folder(body.cwd):
        raise PermissionDenied(f"the token {call.grant.name!r} does not reach {body.cwd}")
    return Workplace(cwd=body.cwd, engine=call.api.settings.default_engine)


async def describe(call: Call, session: SessionId) -> SessionInfo:
    """The session as a list would show it."""
    row = await call.api.store.projections.session(session)
    if row is None:
        raise UnknownSession(session)
    return SessionInfo.of(row)


@routes.get(
    "/api/sessions/{session}", scope="read", summary="A session as it stands", answer=SessionDetail, problems=(404,)
)
async def get_session(call: Call) -> SessionDetail:
    live = await call.session()
    engine = call.api.engine(live.spec.engine)
    can = engine.capabilities()
    resume = live.view().resume
    row = await call.api.store.projections.session(live.id)
    return SessionDetail.of(
        live,
        modes=live.modes,
        choices=_choices(call, live),
        efforts=can.efforts,
        resume_line=engine.format_resume(resume) if resume is not None else "",
        archived=row is not None and row.archived,
    )


def _choices(call: Call, live: Session) -> tuple[ConfigOption, ...]:
    """What the agent offers; before it has been started, what is known of the engine."""
    view = live.view()
    if view.options:
        return view.options
    chosen = {"mode": view.mode, "model": view.model, "thought_level": live.spec.effort}
    known = call.api.choices.read(live.spec.engine).options
    return choose_options(known, chosen=chosen, modes=live.modes)


@routes.delete(
    "/api/sessions/{session}", scope="drive", summary="Close a session and remove it with its log", problems=(404,)
)
async def delete_session(call: Call) -> None:
    live = await call.session()
    gone = await describe(call, live.id)
    await call.api.hub.delete(live.id, call.principal)
    call.api.attention.tell("SessionDeleted", gone)


class Titled(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A title."""

    title: Annotated[str, Meta(max_length=500)] = ""


@routes.post(
    "/api/sessions/{session}/fork",
    scope="drive",
    summary="Open a session that goes on from here and leaves this one alone",
    status=201,
    answer=SessionInfo,
    problems=(404,),
)
async def fork_session(call: Call, body: Titled) -> SessionInfo:
    live = await call.session()
    made = await call.api.hub.fork(live.id, title=body.title)
    return await describe(call, made.id)


@routes.post(
    "/api/sessions/{session}/title",
    scope="drive",
    summary="Rename a session",
    answer=SessionInfo,
    problems=(404, 409),
)
async def rename_session(call: Call, body: Titled) -> SessionInfo:
    live = await call.session()
    await live.rename(body.title)
    return await describe(call, live.id)


class Aside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whether the session is to be put aside, or back."""

    archived: bool = True


@routes.post(
    "/api/sessions/{session}/archive",
    scope="drive",
    summary="Put a session aside, or back",
    answer=SessionInfo,
    problems=(404,),
)
async def archive_session(call: Call, body: Aside) -> SessionInfo:
    live = await call.session()
    await call.api.hub.archive(live.id, archived=body.archived)
    info = await describe(call, live.id)
    call.api.attention.tell("SessionArchived", info)
    return info


class Reason(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why, in words."""

    reason: Annotated[str, Meta(max_length=1000)] = ""


@routes.post(
    "/api/sessions/{session}/close",
    scope="drive",
    summary="End a session; its log stays",
    answer=SessionInfo,
    problems=(404, 409),
)
async def close_session(call: Call, body: Reason) -> SessionInfo:
    live = await call.session()
    await live.close(body.reason)
    await call.api.hub.forget(live.id)
    return await describe(call, live.id)


@routes.get(
    "/api/sessions/{session}/export",
    scope="read",
    summary="The session's log as JSON lines; `footplate store import` takes it",
    media="application/jsonl",
    problems=(404,),
)
async def export_session(call: Call) -> StreamingResponse:
    live = await call.session()
    headers = {"content-disposition": f'attachment; filename="{live.id}.jsonl"'}
    return StreamingResponse(_lines(call, live), media_type="application/jsonl", headers=headers)


async def _lines(call: Call, live: Session) -> AsyncIterator[bytes]:
    async for line in call.api.hub.export(live.id):
        yield line
