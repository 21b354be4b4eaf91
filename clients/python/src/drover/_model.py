"""The base class of the models."""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, ConfigDict

SECRETS = {"secret", "client_secret", "access_token"}


def member_name(field: str) -> str:
    """Returns the name in JSON of a field: `created_at_utc` is `createdAtUTC`, and `from_` is `from`."""
    if field.startswith("f_"):
        return "f:" + member_name(field[2:])
    name = re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), field.rstrip("_"))
    return re.sub(r"(Iso|Utc)$", lambda match: match[1].upper(), name)


class Model(BaseModel):
    """Accepts and keeps members that this version does not know, and never shows a secret in its `repr`."""

    model_config = ConfigDict(
        alias_generator=member_name,
        validate_by_name=True,
        validate_by_alias=True,
        extra="allow",
        use_attribute_docstrings=True,
        hide_input_in_errors=True,
        protected_namespaces=(),
    )

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, "***" if name in SECRETS and value is not None else value

    def to_json(self) -> dict[str, Any]:
        """Returns the members that were set, as JSON: in a patch, `None` that was set removes a member."""
        return self.model_dump(mode="json", by_alias=True, exclude_unset=True)
