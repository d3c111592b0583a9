"""The models that the scripted API lists, page by page as the real one does. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """One model of the list."""

    id: str
    display_name: str = ""
    created_at: str = "2026-01-01T00:00:00Z"
    type: str = "model"


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the list."""

    data: list[Model]
    has_more: bool
    first_id: str | None
    last_id: str | None


DEFAULT_MODELS = (
    Model(id="claude-scripted-large", display_name="Scripted Large"),
    Model(id="claude-scripted-small", display_name="Scripted Small"),
)


def as_model(given: Model | str) -> Model:
    """A model from its id alone, or as it is."""
    return Model(id=given, display_name=given) if isinstance(given, str) else given


def page_of(models: Iterable[Model], query: Mapping[str, str]) -> Page:
    """The page that `limit`, `after_id` and `before_id` ask for; an unknown id or a bad limit is a ValueError."""
    listed = list(models)
    limit = int(query.get("limit", "20"))
    if not 1 <= limit <= 1000:
        raise ValueError("limit: must be between 1 and 1000")
    if "before_id" in query:
        before = listed[: _position(listed, query["before_id"])]
        data, more = before[-limit:], len(before) > limit
    else:
        after = listed[_position(listed, query["after_id"]) + 1 :] if "after_id" in query else listed
        data, more = after[:limit], len(after) > limit
    return Page(
        data=data,
        has_more=more,
        first_id=data[0].id if data else None,
        last_id=data[-1].id if data else None,
    )


def _position(models: list[Model], id: str) -> int:  # noqa: A002 - the Messages API calls it so
    for position, model in enumerate(models):
        if model.id == id:
            return position
    raise ValueError(f"no model {id!r} in the list")
