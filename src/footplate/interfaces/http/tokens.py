"""Tokens: make one for a phone, a program, a guest; list them; take one back."""

from __future__ import annotations

import msgspec

from footplate.interfaces.http.call import Call
from footplate.interfaces.http.routing import Routes
from footplate.runtime.access import Scope, TokenRecord, TokenRequest

routes = Routes("tokens")


class TokenInfo(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A token without its secret."""

    id: str
    name: str
    scopes: tuple[Scope, ...]
    created_at: float
    expires_at: float | None = None
    sessions: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: TokenRecord) -> TokenInfo:
        """From what is stored, without the hash."""
        return cls(
            id=record.id,
            name=record.name,
            scopes=record.scopes,
            created_at=record.created_at,
            expires_at=record.expires_at,
            sessions=record.sessions,
            projects=record.projects,
        )


class NewToken(msgspec.Struct, frozen=True, kw_only=True):
    """A new token: the only time that it is shown."""

    token: str
    link: str
    info: TokenInfo


class TokenList(msgspec.Struct, frozen=True, kw_only=True):
    """Every token that was made and not revoked."""

    tokens: tuple[TokenInfo, ...]


@routes.get("/api/tokens", scope="admin", summary="The tokens that were made", answer=TokenList)
async def list_tokens(call: Call) -> TokenList:
    return TokenList(tokens=tuple(map(TokenInfo.of, call.api.access.list())))


@routes.post(
    "/api/tokens",
    scope="admin",
    summary="Make a token: scoped, limited to sessions or folders, expiring; `read` for one session is a share link",
    status=201,
    answer=NewToken,
)
async def make_token(call: Call, body: TokenRequest) -> NewToken:
    issued = await call.api.access.issue(body, by=call.grant, principal=call.principal)
    return NewToken(token=issued.token, link=f"/ui/#token={issued.token}", info=TokenInfo.of(issued.record))


@routes.delete("/api/tokens/{token}", scope="admin", summary="Take a token back", problems=(404,))
async def revoke_token(call: Call) -> None:
    await call.api.access.revoke(call.params["token"], principal=call.principal)
