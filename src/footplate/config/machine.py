"""Settings of what the machine offers to clients: files and processes."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta


class FilesSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which files clients may touch."""

    roots: Annotated[
        tuple[str, ...],
        Meta(description="only files in these folders (`~/` is the home); default: all that the service's user may"),
    ] = ()
    max_file_bytes: Annotated[
        Annotated[int, Meta(gt=0)] | None,
        Meta(description="the largest file that may be uploaded; default: what the disk holds"),
    ] = None
    max_unpacked_bytes: Annotated[
        Annotated[int, Meta(gt=0)] | None,
        Meta(description="the most that one archive may unpack to, holes counted; default: what the disk holds"),
    ] = None
    max_sparse_bytes: Annotated[
        int, Meta(description="the largest file with holes in an archive: it costs nothing to claim one", gt=0)
    ] = 64 * 1024**3

    def __post_init__(self) -> None:
        """Refuse a root that would mean another folder wherever the service is started."""
        for root in self.roots:
            if not root.startswith(("/", "~/")) and root != "~":
                raise ValueError(f"{root!r} in roots is relative; write /a/folder or ~/a/folder")


class ProcessesSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What processes that clients start may do; the first six can be changed by a client until the next start."""

    max_concurrent: Annotated[int, Meta(description="how many run at a time", gt=0)] = 64
    default_run_timeout_ms: Annotated[int, Meta(description="how long a `run` takes when it does not say", gt=0)] = (
        30_000
    )
    max_run_timeout_ms: Annotated[int, Meta(description="the longest that a `run` may ask for", gt=0)] = 300_000
    max_output_bytes: Annotated[int, Meta(description="how much of each output a `run` gives back", gt=0)] = 1024 * 1024
    max_log_bytes: Annotated[int, Meta(description="how much output of each process is kept", gt=0)] = 10 * 1024 * 1024
    max_input_bytes: Annotated[int, Meta(description="how much input one call may send", gt=0)] = 64 * 1024
    replay_bytes: Annotated[
        int, Meta(description="how much output of a terminal is shown again to one who comes back", gt=0)
    ] = 256 * 1024
    keep_exited: Annotated[int, Meta(description="how many processes that have ended stay in the list", ge=0)] = 256
    keep_exited_s: Annotated[float, Meta(description="how long a process that has ended stays in the list", gt=0)] = (
        86_400.0
    )
    env_pass: Annotated[
        tuple[str, ...], Meta(description="further variables of the service's environment that processes get, as globs")
    ] = ()
