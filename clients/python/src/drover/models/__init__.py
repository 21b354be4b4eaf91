"""The models of the services, which `generate` makes from their OpenAPI documents.

A field has the name of its member in snake case: `created_at_utc` is `createdAtUTC`. Members that this version does
not know are accepted and kept, in `model_extra`.
"""

from . import livestock, logistics, system

__all__ = ["livestock", "logistics", "system"]
