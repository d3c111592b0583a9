"""The models that a provider lists for a credential of a session: Anthropic, OpenAI and its like, Gemini. Blocking."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from footplate.config.settings import Settings
from footplate.engines.base import Engine
from footplate.engines.known_models import KnownModel, find_known
from footplate.engines.login import ProviderAccess, ReachesProvider
from footplate.errors import FetchFailed
from footplate.runtime.fetching import fetch_text, show_address

PAGE: Final = 1000
PAGES: Final = 20
WAIT_S: Final = 20.0


class _Model(msgspec.Struct, frozen=True):
    """A model in any of the lists; each provider fills other fields."""

    id: str = ""
    name: str = ""
    display_name: str = ""
    max_input_tokens: int | None = None
    max_tokens: int | None = None
    context_window: int | None = None
    max_output_tokens: int | None = None
    shown: str = msgspec.field(default="", name="displayName")
    reads: int | None = msgspec.field(default=None, name="inputTokenLimit")
    writes: int | None = msgspec.field(default=None, name="outputTokenLimit")

    def known(self, engine: str) -> KnownModel:
        """In our words; a limit that the provider does not give is that of the built-in list."""
        name = self.id or self.name.removeprefix("models/")
        built_in = find_known(engine, name) or KnownModel(id=name)
        return KnownModel(
            id=name,
            label=self.display_name or self.shown,
            context=self.max_input_tokens or self.context_window or self.reads or built_in.context,
            output=self.max_output_tokens or self.max_tokens or self.writes or built_in.output,
        )


class _Page(msgspec.Struct, frozen=True):
    data: tuple[_Model, ...] = ()
    models: tuple[_Model, ...] = ()
    has_more: bool = False
    last_id: str | None = None


def ask_provider(engine: Engine, settings: Settings, environ: Mapping[str, str]) -> tuple[KnownModel, ...]:
    """The models of the provider behind an engine; none without a credential. Raises `FootplateError`.

    The credential is that of a session: a login or a key that the engine knows of, else a key in the environment or in
    the `env` of the engine's settings.
    """
    told: object = engine
    if isinstance(told, ReachesProvider):
        access = told.provider_access(environ)
        return _anthropic(access) if access is not None else ()
    ask = _ASKS.get(engine.name)
    return ask({**environ, **_own_variables(settings, engine.name)}) if ask is not None else ()


def _own_variables(settings: Settings, engine: str) -> Mapping[str, str]:
    env = settings.engines.get(engine, {}).get("env", {})
    return env if isinstance(env, Mapping) else {}


def _anthropic(access: ProviderAccess) -> tuple[KnownModel, ...]:
    found: list[KnownModel] = []
    after = ""
    for _ in range(PAGES):
        page = _read(f"{access.base_url}/v1/models?beta=true&limit={PAGE}{after}", access.headers)
        found += [each.known("claude") for each in page.data]
        if not page.has_more or not page.last_id:
            break
        after = f"&after_id={page.last_id}"
    return tuple(found)


def _openai(environ: Mapping[str, str]) -> tuple[KnownModel, ...]:
    key = environ.get("OPENAI_API_KEY") or environ.get("CODEX_API_KEY")
    if not key:
        return ()
    base = environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1").rstrip("/")
    page = _read(f"{base}/models", {"authorization": f"Bearer {key}"})
    return tuple(each.known("codex") for each in page.data)


def _gemini(environ: Mapping[str, str]) -> tuple[KnownModel, ...]:
    key = environ.get("GEMINI_API_KEY")
    if not key:
        return ()
    base = environ.get("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com").rstrip("/")
    page = _read(f"{base}/v1beta/models?pageSize={PAGE}", {"x-goog-api-key": key})
    return tuple(each.known("gemini") for each in page.models)


def _read(address: str, headers: Mapping[str, str]) -> _Page:
    try:
        return msgspec.json.decode(fetch_text(address, headers, timeout_s=WAIT_S), type=_Page)
    except (msgspec.MsgspecError, UnicodeDecodeError) as problem:
        raise FetchFailed(show_address(address), f"not a list of models: {problem}") from problem


_ASKS: Final[dict[str, Callable[[Mapping[str, str]], tuple[KnownModel, ...]]]] = {
    "codex": _openai,
    "qwen": _openai,
    "gemini": _gemini,
}
