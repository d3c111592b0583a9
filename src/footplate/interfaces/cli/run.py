"""`footplate run`: one prompt, watched on a terminal, in a pipe or as JSON lines."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import click
import msgspec

from footplate.events.runs import Completed
from footplate.interfaces.cli.failing import FAILED, guarded
from footplate.interfaces.cli.places import PLACE_OPTIONS, choose_place
from footplate.interfaces.cli.progress import JsonLines, Painter, PlainLines, Progress
from footplate.interfaces.cli.signals import watch_signals
from footplate.runtime.run import Run, RunRequest

Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def _read_prompt(given: str | None) -> str:
    if given is not None and given != "-":
        return given
    if sys.stdin.isatty():
        raise click.UsageError('no prompt; write it behind the command ("...") or pipe it in')
    return sys.stdin.read()


def _read_schema(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        schema = msgspec.json.decode(path.read_bytes())
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise click.BadParameter(f"{path}: {problem}", param_hint="--json-schema") from problem
    if not isinstance(schema, dict):
        raise click.BadParameter(f"{path}: a JSON Schema is an object", param_hint="--json-schema")
    return msgspec.json.encode(schema).decode()


def _choose_progress(run: Run, *, as_json: bool) -> Progress:
    if as_json:
        return JsonLines(sys.stdout)
    if sys.stderr.isatty():
        return Painter(sys.stdout, sys.stderr, run.engine)
    return PlainLines(sys.stdout, sys.stderr, run.engine)


async def _watch(run: Run, progress: Progress) -> int:
    """Show the run until it is over; the exit code says how it went."""
    completed: Completed | None = None
    async with watch_signals(run, progress) as signals, progress:
        events = run.events()
        try:
            async for event in events:
                if isinstance(event, Completed):
                    completed = event
                progress.show(event)
        except asyncio.CancelledError:
            if signals.exit_code is None:
                raise
            progress.note("killed")
        finally:
            await events.aclose()
    if signals.exit_code is not None:
        return signals.exit_code
    return 0 if completed is not None and completed.ok else FAILED


def run_options(command: Callable[..., None]) -> Callable[..., None]:
    """Every option of a run but the engine, shared by `run` and the shortcuts."""
    options: list[Decorator] = [
        click.argument("prompt", required=False),
        click.option("--model", default="", metavar="M", help="The model, as the engine names it."),
        click.option("--mode", default="", metavar="P", help="The permission mode."),
        click.option("--effort", default="", metavar="L", help="How hard the model thinks."),
        click.option(
            "--allow-tool", "allow_tools", multiple=True, metavar="T", help="Allow a tool without asking; repeatable."
        ),
        click.option("--cwd", default="", metavar="D", help="The folder to work in; default: this one."),
        *PLACE_OPTIONS,
        click.option("--resume", default="", metavar="ID", help="Go on with a session: its id or its resume line."),
        click.option("--fork", is_flag=True, help="With --resume: go on in a copy, leave the original alone."),
        click.option("--max-turns", type=int, metavar="N", help="Stop after N calls of the model."),
        click.option("--max-budget", type=float, metavar="USD", help="Stop when it has cost that much."),
        click.option(
            "--json-schema",
            type=click.Path(dir_okay=False, path_type=Path),
            metavar="FILE",
            help="Ask for an answer of this JSON Schema.",
        ),
        click.option("--timeout", type=float, metavar="S", help="Stop after S seconds; off by default."),
        click.option("--wait-background", is_flag=True, help="Wait for the agent's background tasks too."),
        click.option("--one-shot", is_flag=True, help="Start the agent in its plain form, without a live wire."),
        click.option("--json", "as_json", is_flag=True, help="One JSON object per line, for programs."),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def _run(
    engine: str,
    prompt: str | None,
    allow_tools: tuple[str, ...],
    json_schema: Path | None,
    max_budget: float | None,
    timeout: float | None,
    as_json: bool,
    project: str,
    branch: str,
    **rest: object,
) -> NoReturn:
    def work() -> int:
        place = choose_place(project, branch, cwd=str(rest.pop("cwd")), engine=engine, resume=str(rest["resume"]))
        request = msgspec.convert(
            {
                **rest,
                "engine": place.engine,
                "cwd": place.cwd,
                "prompt": _read_prompt(prompt),
                "allow_tools": allow_tools or None,
                "json_schema": _read_schema(json_schema),
                "max_budget_usd": max_budget,
                "timeout_s": timeout,
            },
            RunRequest,
        )
        return asyncio.run(_go(request, as_json=as_json))

    sys.exit(guarded(work))


async def _go(request: RunRequest, *, as_json: bool) -> int:
    run = Run(request)
    return await _watch(run, _choose_progress(run, as_json=as_json))


@click.command("run", short_help="Give an agent one prompt and watch it work.")
@click.option("--engine", default="", metavar="E", help="Which agent: claude, codex, mock, or one you installed.")
@run_options
def run_command(engine: str, **options: object) -> None:
    """Give an agent one prompt and watch it work. The prompt may also come from standard input.

    Progress goes to standard error, the answer and the line that resumes the session to standard output: exact in a
    pipe, without control characters on a terminal.
    Exit code 0: done; 1: the run failed; 2: bad usage; 130: cancelled. Ctrl-C once stops the agent in
    order, twice kills it.

    \b
    Examples:
      footplate run "fix the failing tests"
      footplate run --engine mock demo
      footplate run --project shop --branch fix/login "fix the login"
      git diff | footplate run --json -
      footplate run --resume "claude --resume 0d5b..." "and now the docs"
    """
    _run(engine, **options)  # type: ignore[arg-type]


def engine_command(engine: str) -> click.Command:
    """`footplate ENGINE PROMPT`, the shortcut for `footplate run --engine ENGINE PROMPT`."""

    def shortcut(**options: object) -> None:
        _run(engine, **options)  # type: ignore[arg-type]

    shortcut.__doc__ = (
        f'Shortcut for `footplate run --engine {engine}`.\n\n\b\nExample:\n  footplate {engine} "fix the failing tests"'
    )
    return click.command(engine, short_help=f"Run a prompt on {engine}.")(run_options(shortcut))
