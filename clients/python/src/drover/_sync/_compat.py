"""What the two halves do differently: written by hand in both."""

from threading import Lock
from time import sleep

__all__ = ["Lock", "resolve", "sleep"]


def resolve(value: str) -> str:
    """Returns the token of a function."""
    return value
