"""A plan: everything that a run does, as one value. Made from a seed, saved as JSON, made smaller by dropping parts.

Seeds do not survive a change of the simulator, plans mostly do: `corpus/` keeps plans. Faults are a swarm: each is on
in half of the seeds, with its own strength, and a third of the seeds has at most three of them, because faults that are
on together hide each other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

import msgspec

from tests.simulation.chance import Chance

PolicyName = Literal["fifo", "random", "delay", "pct"]
CrashKind = Literal["service", "power", "stop", "keeper", "both"]

SCALES: Final = (
    (0.0,),
    (0.0, 0.0001),
    (0.0, 0.0001, 0.004),
    (0.0, 0.004, 0.06),
    (0.0001, 0.06),
    (0.0, 0.0, 0.0, 0.004, 0.5),
)
"""Scales of delays in seconds: one of a scale's values is drawn each time."""

FAULTS: Final = (
    "slow_store",
    "slow_reads",
    "slow_threads",
    "slow_wire",
    "slow_calls",
    "busy",
    "full",
    "short_pages",
    "small_buffer",
    "agent_dies",
    "crash",
    "power",
    "stop",
    "crash_in_start",
    "crash_at_write",
    "delete",
    "close",
    "interrupt",
    "rules",
    "poller",
    "steer",
    "withdraw",
    "reorder",
    "evict",
    "memory_short",
    "request_timeout",
    "tool_limit",
    "turn_limit",
    "hang_up",
    "fork",
    "retry",
    "drop_readers",
    "slow_readers",
    "big",
    "clock_jump",
    "keep",
    "crash_keeper",
    "short_grace",
    "torn_reads",
    "slow_keeper",
    "spawn_fails",
    "deaf",
    "script",
    "silent",
    "acp",
    "chat",
    "alone",
    "chat_drafts",
    "chat_silent",
    "slow_bot",
    "bot_lost",
    "bot_429",
    "bot_slow",
)
"""What may be on in a run; `test_plan` checks that each one changes plans."""


class Step(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that a client does, after a pause."""

    wait: float
    do: str
    text: str = ""
    key: str = ""
    when: Literal["queue", "steer", "now"] = "queue"
    hang_up: float | None = None
    """The caller is gone after so many seconds, whether it has its answer or not."""


class Client(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One client: what it is, which session it is about, what it does and how patient it is."""

    kind: str
    name: str
    session: int = 0
    steps: tuple[Step, ...] = ()
    pace_s: float = 0.05
    tries: int = 1
    pipe: int = 8
    slow_s: float = 0.0
    drop: float = 0.0
    cursor: Literal["lasting", "any", "id"] = "lasting"


class Crash(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An end of the service: at a time or at a write, for how long, and perhaps again while it starts."""

    kind: CrashKind
    at: float = 0.0
    at_write: int = 0
    down_s: float = 0.2
    again_s: float | None = None


class SessionPlan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session that is created at a time."""

    engine: str = "mock"
    at: float = 0.0
    tool_calls: int | None = None
    turns: int | None = None
    on_reached: Literal["stop", "ask"] = "stop"


class Plan(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A whole run."""

    seed: int
    policy: PolicyName = "fifo"
    faults: dict[str, float] = {}
    scales: dict[str, int] = {}
    """Which of `SCALES` the delays of a place are drawn from."""
    sessions: tuple[SessionPlan, ...] = ()
    clients: tuple[Client, ...] = ()
    crashes: tuple[Crash, ...] = ()
    rules: bool = False
    buffer_bytes: int = 1_000_000
    page: int = 500
    idle_s: float = 600.0
    sweep_s: float = 5.0
    memory_short: bool = False
    keep: bool = False
    """Whether agents outlive the service."""
    grace_s: float = 600.0
    pipe_bytes: int = 65_536
    request_timeout_s: float | None = None
    full_from: float | None = None
    full_for: float = 0.0
    clock_jumps: tuple[tuple[float, float], ...] = ()
    muted: dict[str, tuple[int, ...]] = {}
    """Draws of chance that said yes and are to say no."""
    note: str = ""

    def on(self, fault: str) -> bool:
        """Whether the fault is part of this run."""
        return fault in self.faults

    def save(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_bytes(msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n")

    @classmethod
    def load(cls, path: Path) -> Plan:
        """Read it."""
        return msgspec.json.decode(path.read_bytes(), type=cls)


def make_plan(seed: int, faults: tuple[str, ...] | None = None) -> Plan:
    """The plan of a seed, with a swarm of faults or with just these."""
    from tests.simulation import door_plans

    maker = _Maker(seed, faults)
    return door_plans.add_clients(maker, maker.make())


class _Maker:
    def __init__(self, seed: int, faults: tuple[str, ...] | None) -> None:
        self.seed = seed
        self.chance = Chance(seed ^ 0x5EED)
        self.faults = self._choose_faults()
        if faults is not None:
            self.faults = {name: round(0.5 + self.chance.draw(f"forced {name}") / 2, 3) for name in faults}

    def _choose_faults(self) -> dict[str, float]:
        draw = self.chance
        strengths = {name: draw.draw(f"strength {name}") for name in FAULTS}
        if draw.draw("few faults") < 1 / 3:
            chosen = {draw.pick("few", FAULTS) for _ in range(1 + draw.below("how few", 3))}
        else:
            chosen = {name for name in FAULTS if draw.draw(f"fault {name}") < 0.5}
        return {name: round(strengths[name], 3) for name in FAULTS if name in chosen}

    def on(self, fault: str) -> bool:
        return fault in self.faults

    def make(self) -> Plan:
        draw = self.chance
        count = 1 + draw.below("sessions", 3)
        sessions = tuple(self._session(number) for number in range(count))
        self.engines = [session.engine for session in sessions]
        clients = tuple(client for number in range(count) for client in self._clients(number))
        if self.on("poller"):
            clients = (*clients, self._poller())
        return Plan(
            seed=self.seed,
            policy=self._policy(),
            faults=self.faults,
            scales={
                name: draw.below(f"scale {name}", len(SCALES))
                for name in FAULTS
                if name.startswith("slow_") and name != "slow_readers" and self.on(name)
            },
            sessions=sessions,
            clients=clients,
            crashes=self._crashes(),
            rules=self.on("rules"),
            buffer_bytes=draw.pick("buffer", (300, 900, 3_000)) if self.on("small_buffer") else 1_000_000,
            page=draw.pick("page", (1, 2, 7)) if self.on("short_pages") else 500,
            idle_s=draw.pick("idle", (0.05, 0.3, 1.0)) if self.on("evict") else 600.0,
            sweep_s=draw.pick("sweep", (0.05, 0.4)) if self.on("evict") or self.on("memory_short") else 5.0,
            memory_short=self.on("memory_short"),
            request_timeout_s=draw.pick("timeout", (0.05, 0.5, 30.0)) if self.on("request_timeout") else None,
            full_from=draw.between("full from", 0.1, 2.5) if self.on("full") else None,
            full_for=draw.pick("full for", (0.05, 0.5, 3.0)),
            clock_jumps=self._jumps(),
            keep=self.on("keep"),
            grace_s=draw.pick("grace", (0.1, 1.0)) if self.on("short_grace") else 600.0,
            pipe_bytes=200 if self.on("deaf") else 65_536,
        )

    def _policy(self) -> PolicyName:
        roll = self.chance.draw("policy")
        return "fifo" if roll < 0.4 else "random" if roll < 0.8 else "delay" if roll < 0.9 else "pct"

    def _jumps(self) -> tuple[tuple[float, float], ...]:
        if not self.on("clock_jump"):
            return ()
        draw = self.chance
        return tuple(
            (round(draw.between("jump at", 0.1, 4.0), 4), draw.pick("jump by", (-86_400.0, -2.0, 5.0, 86_400.0)))
            for _ in range(1 + draw.below("jumps", 2))
        )

    def _engine(self) -> str:
        if self.on("script") and self.chance.draw("script") < 0.7:
            return "script"
        return self.chance.pick("engine", ("kept", "kept", "mock")) if self.on("keep") else "mock"

    def _session(self, number: int) -> SessionPlan:
        draw = self.chance
        return SessionPlan(
            engine=self._engine(),
            at=0.0 if number == 0 else round(draw.between("born", 0.0, 1.0), 4),
            tool_calls=1 + draw.below("calls", 2) if self.on("tool_limit") else None,
            turns=1 + draw.below("turns", 3) if self.on("turn_limit") else None,
            on_reached=draw.pick("on reached", ("stop", "ask")),
        )

    # ------------------------------------------------------------------------------------------ clients

    def _clients(self, number: int) -> list[Client]:
        draw = self.chance
        found = [self._prompter(number, place) for place in range(1 + draw.below("prompters", 2))]
        found += [self._reader(number, place) for place in range(1 + draw.below("readers", 3))]
        if not (self.on("silent") and draw.draw("silent") < 0.7):
            found.append(
                Client(kind="answerer", name=f"answerer {number}", session=number, pace_s=self._pace("answer"))
            )
        for kind, most in (("interrupt", 3), ("steer", 2), ("withdraw", 2), ("reorder", 1), ("fork", 1)):
            if self.on(kind):
                found.append(self._doer(kind, number, 1 + draw.below(f"{kind}s", most)))
        if self.on("close") and draw.draw("close") < 0.5:
            found.append(self._doer("close", number, 1))
        if self.on("delete") and draw.draw("delete") < 0.5:
            found += [self._doer("delete", number, 1, place) for place in range(1 + draw.below("deleters", 2))]
        return found

    def _pace(self, what: str) -> float:
        return self.chance.pick(f"{what} pace", (0.002, 0.02, 0.2))

    def _doer(self, kind: str, number: int, times: int, place: int = 0) -> Client:
        steps = tuple(Step(wait=self._wait(f"{kind} wait"), do=kind, hang_up=self._hang_up()) for _ in range(times))
        return Client(kind="doer", name=f"{kind} {number}.{place}", session=number, steps=steps)

    def _hang_up(self) -> float | None:
        if not self.on("hang_up") or self.chance.draw("hang up") > 0.3:
            return None
        return round(self.chance.delay("hang up after", (0.0001, 0.002, 0.02, 0.08)), 5)

    def _wait(self, site: str) -> float:
        return round(self.chance.delay(site, (0.0, 0.001, 0.01, 0.1, 0.5, 1.0)), 5)

    def _prompter(self, number: int, place: int) -> Client:
        draw = self.chance
        steps = []
        for count in range(1 + draw.below("prompts", 4)):
            roll = draw.draw("when")
            when: Literal["queue", "steer", "now"] = "queue"
            if self.on("steer"):
                when = "queue" if roll < 0.6 else "now" if roll < 0.8 else "steer"
            keyed = self.on("retry") or draw.draw("keyed") < 0.3
            steps.append(
                Step(
                    wait=self._wait("prompt wait"),
                    do="prompt",
                    text=self._script() if self.engines[number] == "script" else self._text(),
                    key=f"key-{number}-{place}-{count}" if keyed else "",
                    when=when,
                    hang_up=self._hang_up(),
                )
            )
        tries = 6 if self.on("retry") else 1
        name = f"prompter {number}.{place}"
        return Client(kind="prompter", name=name, session=number, steps=tuple(steps), tries=tries)

    def _text(self) -> str:
        draw = self.chance
        roll = draw.draw("text")
        if roll < 0.35:
            return f"stream {1 + draw.below('chunks', 12)} {draw.pick('chunk pause', (0, 0, 1, 20))}"
        if roll < 0.55:
            return "permission"
        if self.on("big") and roll < 0.65:
            return (
                f"big {draw.pick('size', (2_000, 20_000, 20_000, 1_200_000) if self.seed % 50 == 0 else (500, 4_000))}"
            )
        words = (
            "hello",
            "tool",
            "think",
            "question",
            "error",
            "crash 1",
            "slow 40",
            "hang",
            "subagent",
            "garbage",
            "usage",
        )
        return draw.pick("word", words)

    def _script(self) -> str:
        roll = self.chance.draw("script word")
        if roll < 0.45:
            return f"ask {1 + self.chance.below('asks', 3)}"
        if roll < 0.6:
            return f"work {1 + self.chance.below('works', 3)}"
        if roll < 0.8:
            return f"talk {1 + self.chance.below('pieces', 8)}"
        return self.chance.pick("script", ("task 1", "limit 1", "stay 1"))

    def _reader(self, number: int, place: int) -> Client:
        draw = self.chance
        return Client(
            kind="reader",
            name=f"reader {number}.{place}",
            session=number,
            steps=(Step(wait=self._wait("reader wait"), do="read"),),
            pipe=draw.pick("pipe", (1, 4, 64)),
            slow_s=draw.pick("reader slow", (0.0005, 0.01, 0.1)) if self.on("slow_readers") else 0.0,
            drop=draw.pick("reader drop", (0.02, 0.1, 0.3)) if self.on("drop_readers") else 0.0,
            cursor=draw.pick("cursor", ("lasting", "any", "id")),
        )

    def _poller(self) -> Client:
        return Client(kind="poller", name="poller", pace_s=self.chance.pick("poll", (0.003, 0.03, 0.3)))

    # ------------------------------------------------------------------------------------------ crashes

    def _crashes(self) -> tuple[Crash, ...]:
        draw = self.chance
        kinds: list[CrashKind] = []
        if self.on("crash"):
            kinds.append("service")
        if self.on("power"):
            kinds.append("power")
        if self.on("stop"):
            kinds.append("stop")
        if self.on("crash_keeper") and self.on("keep"):
            kinds += ["keeper", "both"]
        if not kinds:
            return ()
        found = []
        for _ in range(1 + draw.below("crashes", 3)):
            kind = draw.pick("crash kind", kinds)
            by_write = self.on("crash_at_write") and kind != "stop" and draw.draw("by write") < 0.5
            again = round(draw.delay("again", (0.0001, 0.004, 0.05)), 5)
            found.append(
                Crash(
                    kind=kind,
                    at=round(draw.between("crash at", 0.02, 3.0), 4),
                    at_write=1 + draw.below("at write", 40) if by_write else 0,
                    down_s=draw.pick("down", (0.0, 0.01, 0.3)),
                    again_s=again if self.on("crash_in_start") and draw.draw("in start") < 0.6 else None,
                )
            )
        return tuple(found)
