"""Editors that play scenarios on `footplate acp`: on the official TypeScript SDK, and on the Python SDK."""

from __future__ import annotations

import asyncio
import json
import shutil
from typing import Any

import acp
from acp import schema

from tests.e2e.editor_scenarios import CAPABILITIES, Json
from tests.e2e.world import ROOT, World

NODE = shutil.which("node") or "node"
EDITOR = ROOT / "tests" / "agents" / "acp_editor.mjs"
PATIENCE_S = 150


async def play_typescript(world: World, command: list[str], scenarios: list[Json]) -> Json:
    """Play them on the TypeScript SDK."""
    given = json.dumps({"capabilities": CAPABILITIES, "scenarios": scenarios})
    environ = {**world.env, "PATH": f"{world.env['PATH']}:/usr/local/bin"}
    node = await asyncio.create_subprocess_exec(
        *(NODE, str(EDITOR), json.dumps(command), given),
        env=environ,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_S):
            out, err = await node.communicate()
    finally:
        if node.returncode is None:
            node.kill()
            await node.wait()
    assert node.returncode == 0, err.decode()
    assert not err, err.decode()
    return json.loads(out)  # type: ignore[no-any-return]


class Person:
    """The client side of the Python SDK: plays the person and notes everything."""

    def __init__(self) -> None:
        self.current: Json = {"updates": [], "asked": []}
        self._news = asyncio.Event()

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        params = {"sessionId": session_id, "toolCall": _dump(tool_call), "options": [_dump(each) for each in options]}
        self.current["asked"].append({"method": "session/request_permission", "params": params})
        chosen = next(each for each in options if each.kind == self.current["answer"])
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        )

    async def create_elicitation(self, message: str, mode: Any, **rest: Any) -> acp.CreateElicitationResponse:
        params = {"message": message, "mode": "form", **_dump(mode)}
        self.current["asked"].append({"method": "elicitation/create", "params": params})
        return acp.AcceptElicitationResponse(action="accept", content=self.current["form"])

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.current["updates"].append({"sessionId": session_id, "update": _dump(update)})
        self._news.set()

    async def ext_notification(self, method: str, params: dict[str, Any]) -> None:
        raise AssertionError(f"nobody asked for {method}")

    async def hear(self, kind: str) -> None:
        """Wait for an update of that kind in the scenario that is played."""
        while not any(each["update"]["sessionUpdate"] == kind for each in self.current["updates"]):
            self._news.clear()
            await self._news.wait()


def _dump(model: Any) -> Json:
    return model.model_dump(by_alias=True, exclude_none=True, mode="json")  # type: ignore[no-any-return]


class PythonEditor:
    """Plays steps on a connection of the Python SDK."""

    def __init__(self, connection: Any, person: Person) -> None:
        self._connection = connection
        self._person = person
        self._names: dict[str, str] = {}

    async def step(self, step: Json) -> Json:
        """One request; its result, or its error."""
        params = {_snake(key): self._filled(value) for key, value in step["params"].items()}
        asking = asyncio.ensure_future(self._call(step["method"], params))
        if "cancelOn" in step:
            await self._person.hear(step["cancelOn"])
            await self._connection.cancel(session_id=self._names["$session"])
        try:
            result = _dump(await asking)
        except acp.RequestError as problem:
            return {"error": {"code": problem.code, "message": str(problem)}}
        if "keep" in step:
            self._names[step["keep"]] = result["sessionId"]
        return result

    async def _call(self, method: str, params: Json) -> Any:
        connection = self._connection
        calls = {
            "session/new": connection.new_session,
            "session/prompt": connection.prompt,
            "session/load": connection.load_session,
            "session/list": connection.list_sessions,
            "session/fork": connection.fork_session,
            "session/close": connection.close_session,
            "session/set_mode": connection.set_session_mode,
            "session/set_config_option": connection.set_config_option,
        }
        return await calls[method](**params)

    def _filled(self, value: Any) -> Any:
        return self._names.get(value, value) if isinstance(value, str) else value


def _snake(name: str) -> str:
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


async def play_python(world: World, command: list[str], scenarios: list[Json]) -> Json:
    """Play them on the Python SDK."""
    person: Any = Person()  # the SDK calls what there is; it need not have everything
    async with (
        asyncio.timeout(PATIENCE_S),
        acp.spawn_agent_process(person, command[0], *command[1:], env=world.env, use_unstable_protocol=True) as (
            connection,
            process,
        ),
    ):
        can = schema.ClientCapabilities.model_validate(CAPABILITIES)
        seen: Json = {"initialize": _dump(await connection.initialize(protocol_version=1, client_capabilities=can))}
        editor = PythonEditor(connection, person)
        seen["played"] = []
        for scenario in scenarios:
            person.current = {**scenario, "updates": [], "asked": []}
            if scenario.get("together"):
                results = await asyncio.gather(*(editor.step(step) for step in scenario["steps"]))
            else:
                results = [await editor.step(step) for step in scenario["steps"]]
            seen["played"].append({**person.current, "results": results})
        assert process.stdin is not None
        process.stdin.close()
        seen["exit"] = await process.wait()
    return seen
