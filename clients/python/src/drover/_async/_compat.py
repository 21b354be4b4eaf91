"""What the two halves do differently: written by hand in both."""

from collections.abc import Awaitable

from anyio import Lock, sleep

__all__ = ["Lock", "resolve", "sleep"]


async def resolve(value: str | Awaitable[str]) -> str:
    """Returns the token of a function, which may be asynchronous."""
    return value if isinstance(value, str) else await value
