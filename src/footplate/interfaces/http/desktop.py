"""The desktop of a machine that has none: the status says what is missing, actions are refused. Nothing is faked."""

from __future__ import annotations

import shutil
from typing import Final, Literal, NoReturn

import msgspec

from footplate.errors import Conflict, DesktopMissing, NotFound
from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes

routes = Routes("desktop")

TOOLS: Final = {
    "Xvfb": "xvfb",
    "openbox": "openbox",
    "xdotool": "xdotool",
    "import": "imagemagick",
    "xrandr": "x11-xserver-utils",
}
"""What a desktop needs, and the packages that bring it."""
MISSING: Final = "desktop_dependencies_missing"


class DesktopError(msgspec.Struct, frozen=True, kw_only=True):
    """Why there is none."""

    code: str
    message: str


class DesktopStatus(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Whether there is a desktop."""

    state: Literal["inactive", "install_required"]
    missing_dependencies: tuple[str, ...]
    install_command: str
    processes: tuple[str, ...] | None = ()
    last_error: DesktopError | None = None


class Recordings(msgspec.Struct, frozen=True, kw_only=True):
    """Recordings of the desktop; without one there are none."""

    recordings: tuple[str, ...]


class StreamStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the desktop is being streamed."""

    active: bool


def missing_error(path: str | None) -> DesktopMissing:
    """What is missing here: tools, and in any case the part of Footplate that would drive them."""
    missing = tuple(tool for tool in TOOLS if shutil.which(tool, path=path) is None)
    packages = " ".join(TOOLS[tool] for tool in missing or TOOLS)
    return DesktopMissing(missing or ("footplate-desktop",), f"apt-get install -y {packages}")


@routes.get("/v1/desktop/status", scope="read", summary="Whether there is a desktop", answer=DesktopStatus)
async def status(call: Call) -> DesktopStatus:
    return _status(call, "install_required")


@routes.post("/v1/desktop/stop", scope="drive", summary="Stop the desktop, if there is one", answer=DesktopStatus)
async def stop(call: Call) -> DesktopStatus:
    return _status(call, "inactive")


def _status(call: Call, state: Literal["inactive", "install_required"]) -> DesktopStatus:
    error = missing_error(call.api.services.environ.get("PATH"))
    told = DesktopError(code=MISSING, message=str(error)) if state == "install_required" else None
    return DesktopStatus(
        state=state,
        missing_dependencies=error.missing,
        install_command=error.install_command,
        processes=(),
        last_error=told,
    )


@routes.get("/v1/desktop/recordings", scope="read", summary="Recordings of the desktop", answer=Recordings)
async def recordings(call: Call) -> Recordings:
    return Recordings(recordings=())


@routes.get("/v1/desktop/stream/status", scope="read", summary="Whether it is streamed", answer=StreamStatus)
async def stream_status(call: Call) -> StreamStatus:
    return StreamStatus(active=False)


@routes.post("/v1/desktop/stream/stop", scope="drive", summary="Stop streaming", answer=StreamStatus)
async def stream_stop(call: Call) -> StreamStatus:
    return StreamStatus(active=False)


async def refuse(call: Call) -> NoReturn:
    raise missing_error(call.api.services.environ.get("PATH"))


async def no_recording(call: Call) -> NoReturn:
    raise NotFound("desktop_recording", call.params["recording"])


async def not_active(call: Call) -> NoReturn:
    raise Conflict("no desktop recording is active; desktop runtime is not active")


REFUSED: Final = (
    *(("GET", path) for path in ("clipboard", "display/info", "mouse/position", "screenshot", "screenshot/region")),
    *(("GET", path) for path in ("windows", "windows/focused", "stream/signaling")),
    *(("POST", f"keyboard/{act}") for act in ("down", "press", "type", "up")),
    *(("POST", f"mouse/{act}") for act in ("click", "down", "drag", "move", "scroll", "up")),
    *(("POST", path) for path in ("clipboard", "launch", "open", "start")),
    *(("POST", f"windows/{{window}}/{act}") for act in ("focus", "move", "resize")),
)
for _method, _path in REFUSED:
    routes.add(_method, f"/v1/desktop/{_path}", scope="drive", summary="Refused: there is no desktop", status=503)(
        refuse
    )
for _method, _path in (("GET", ""), ("DELETE", ""), ("GET", "/download")):
    routes.add(
        _method,
        f"/v1/desktop/recordings/{{recording}}{_path}",
        scope="read" if _method == "GET" else "drive",
        summary="There are no recordings",
        status=404,
    )(no_recording)
for _path in ("recording/start", "recording/stop", "stream/start"):
    routes.post(f"/v1/desktop/{_path}", scope="drive", summary="Refused: there is no desktop", status=409)(not_active)
