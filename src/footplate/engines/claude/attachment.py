"""Which conversation of the engine this is: its id, model and mode, and whether it is the one that was asked for."""

from __future__ import annotations

from footplate.engines.claude.ledger import Ledger
from footplate.engines.claude.systems import Fallback, Init
from footplate.events.base import ResumeToken
from footplate.events.ids import EngineSessionId
from footplate.events.model import AttachReason, EngineAttached, McpServerStatus, ModeChanged, ModelChanged


class Attachment:
    """The engine's side of the session as the stream tells it.

    The first init announces it, with all that is known of it; words that come without one (we joined in the middle)
    announce the bare id before. After that only a `/clear` may change it. A stream of any other conversation is not
    translated: `mismatch` says what is wrong, and the process has to be ended.
    """

    def __init__(self, ledger: Ledger, *, engine: str, resume: EngineSessionId | None, fork: bool) -> None:
        self._ledger = ledger
        self._engine = engine
        self._expected = None if fork else resume
        self._reason: AttachReason = "started" if resume is None else ("forked" if fork else "resumed")
        self._session: EngineSessionId | None = None
        self._described = False
        self._version = ""
        self._model = ""
        self._mode = ""
        self.clearing = False
        """Whether a command was sent that begins another conversation."""
        self.mismatch = ""
        self.fast = ("", "")
        """How fast mode stands, and why not."""

    def rejoin(self, *, version: str, model: str, mode: str) -> None:
        """The process goes on, and we with it: the session that was asked for is attached again.

        A new session is not known before the process names it, which may not use the id that was chosen for it.
        """
        self._version = version
        self._model, self._mode = model, mode
        if self._expected is not None:
            self._reason = "reattached"
            self.assume()

    @property
    def token(self) -> ResumeToken | None:
        """What brings the conversation back, once it exists."""
        return None if self._session is None else ResumeToken(engine=self._engine, value=self._session)

    @property
    def model(self) -> str:
        """The model in force."""
        return self._model

    @property
    def mode(self) -> str:
        """The permission mode in force."""
        return self._mode

    def saw(self, session: str) -> None:
        """Words name their session before any init did."""
        if self._session is None and session and self.accepts(session):
            self._attach(
                EngineAttached(
                    engine=self._engine,
                    engine_session_id=self._enter(session),
                    reason=self._reason,
                    version=self._version,
                )
            )

    def assume(self) -> None:
        """Something happens before any line names the session: it can only be the one that was asked for."""
        if self._session is None and self._expected is not None:
            self.saw(self._expected)

    def ended(self, session: str, *, is_error: bool) -> None:
        """A result names its session. An error without a session before it means that there never was one."""
        if self._session is None and not is_error:
            self.saw(session)
        elif self._session is not None and session and session != self._session and self.clearing:
            self._follow(session)
        elif not is_error:  # an error is reported in the words of the CLI, which may name a session of its own
            self.accepts(session)

    def accepts(self, session: str) -> bool:
        """Whether a line may belong to the conversation; if not, `mismatch` says why from here on."""
        wanted = self._session or self._expected
        if not session or wanted is None or session == wanted or self.clearing:
            return True
        if not self.mismatch:
            self.mismatch = f"asked to resume session {wanted}, but the agent answers as session {session}"
            if self._expected is None:
                self.mismatch = f"the conversation is session {wanted}, but the agent answers as session {session}"
            self._ledger.notice("error", self.mismatch, code="session_id_mismatch")
        return False

    def init(self, line: Init) -> bool:
        """A turn begins; False when the init says nothing new of the session."""
        before = len(self._ledger.out)
        new = bool(line.session_id) and line.session_id != self._session
        if not self.accepts(line.session_id):
            return True
        if not self._described or new:
            self._announce(line)
        else:
            self.mode_is(line.permission_mode)
            self.model_is(line.model)
        return len(self._ledger.out) > before

    def mode_is(self, mode: str) -> bool:
        """The permission mode in force; False when it was so before."""
        if not mode or mode == self._mode:
            return False
        self._mode = mode
        self._ledger.out.append(ModeChanged(mode=mode))
        return True

    def fast_is(self, state: str | None, reason: str | None) -> None:
        """How fast mode stands with the turn."""
        told = (state or "", reason or "")
        if state and told != self.fast:
            self.fast = told

    def fell_back(self, line: Fallback) -> None:
        """The engine gave up a model."""
        self._model = line.fallback_model
        self._ledger.out.append(ModelChanged(model=line.fallback_model, fallback_from=line.original_model))
        self._ledger.notice("warning", line.content or "the model was changed", code="model_fallback")

    def model_is(self, model: str) -> None:
        """The model in force."""
        if model and model != self._model:
            self._model = model
            self._ledger.out.append(ModelChanged(model=model))

    def _announce(self, line: Init) -> None:
        if not line.session_id and self._session is None:
            return
        session = line.session_id or self._session or ""
        reason = self._reason_for(session)
        self._described = True
        self._model, self._mode = line.model, line.permission_mode
        self._attach(
            EngineAttached(
                engine=self._engine,
                engine_session_id=self._enter(session),
                reason=reason,
                version=line.claude_code_version,
                model=line.model,
                mode=line.permission_mode,
                cwd=line.cwd,
                tools=line.tools,
                mcp_servers=tuple(
                    McpServerStatus(name=server.name, status=server.status) for server in line.mcp_servers
                ),
                commands=line.slash_commands,
                agents=line.agents,
                output_style=line.output_style,
                credentials=line.api_key_source,
            )
        )

    def _follow(self, session: str) -> None:
        reason = self._reason_for(session)
        self._attach(
            EngineAttached(
                engine=self._engine,
                engine_session_id=self._enter(session),
                reason=reason,
                model=self._model,
                mode=self._mode,
            )
        )

    def _reason_for(self, session: str) -> AttachReason:
        known = self._session is None or session == self._session
        return self._reason if known and not self.clearing else "cleared"

    def _enter(self, session: str) -> EngineSessionId:
        self._session = EngineSessionId(session)
        return self._session

    def _attach(self, attached: EngineAttached) -> None:
        if attached.reason == "cleared":
            self._reason = "cleared"
        self.clearing = False
        self._ledger.out.append(attached)
