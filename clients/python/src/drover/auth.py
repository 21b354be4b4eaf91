"""How a client gets its tokens."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True)
class ClientCredentials:
    """The credentials of a service account, for which the client gets tokens from system."""

    client_id: str
    client_secret: str = field(repr=False)


TokenSource: TypeAlias = str | Callable[[], str] | ClientCredentials
"""A token, a function that returns one, or credentials."""
AsyncTokenSource: TypeAlias = str | Callable[[], str | Awaitable[str]] | ClientCredentials
"""A token, a function (also an asynchronous one) that returns one, or credentials."""
