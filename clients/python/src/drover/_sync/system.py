"""Files, places, service accounts and the address book."""

# Made by `generate` from _async/system.py.

from collections.abc import Sequence
from typing import Any, BinaryIO, Literal

import httpx

from .._http import Progress, Source, opened, parsed, query_of, segment
from ..errors import SecretLost
from ..filters import Day
from ..models.logistics import BlockedOrganisation, DriverContact, OrganisationContact
from ..models.system import (
    ActionResult,
    AddressSearch,
    Country,
    CountryRegions,
    FileInfo,
    FileLink,
    FileType,
    Link,
    LinkForm,
    LinksForm,
    Location,
    ResolveFiles,
    Role,
    ServiceAccount,
    ServiceAccountPatch,
    StorageUsage,
    Uploaded,
)
from .pages import Pages
from .transport import UPLOAD_TIMEOUT_SECONDS, Service, model_of
from .webhooks import given

Width = Literal[160, 320, 640, 1280]


class Files:
    """Files such as photographs, tickets and contracts."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def upload(
        self,
        file: Source,
        type: FileType,
        *,
        bucket: Literal["images", "files"] = "files",
        name: str | None = None,
        organisations: Sequence[str] = (),
        organisation_id: str | None = None,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
    ) -> Uploaded:
        """Uploads a file, completely or not at all, and shares it with `organisations` (`"*"`: everybody).

        `name` is what people see, by default the name of the file.
        """
        with opened(file, progress) as (own_name, content):
            form = {
                "bucket": bucket,
                "type": type,
                "name": name or own_name,
                "organisationId": organisation_id,
            }
            response = self._service.request(
                "POST",
                "/v1/files",
                data=dict(query_of({**form, "organisations": ",".join(organisations) or None})),
                files={"file": (own_name, content)},
                idempotency_key=idempotency_key,
                timeout=httpx.Timeout(UPLOAD_TIMEOUT_SECONDS, connect=10),
            )
        return model_of(Uploaded, response)

    def download(
        self, id: str, into: BinaryIO, *, width: Width | None = None, progress: Progress | None = None
    ) -> int:
        """Writes a file, or a smaller copy of an image, as it arrives; returns the number of bytes.

        If the connection breaks, this is `Unreachable`, and the file is incomplete.
        """
        query = query_of({"width": width})
        return self._service.save("GET", _file_path(id), into, progress, query=query)

    def get(self, id: str) -> FileInfo:
        """Returns the information on a file."""
        return self._service.one(FileInfo, "GET", _file_path(id, "info"))

    def list(
        self, *, query: str | None = None, type: str | None = None, status: str | None = None
    ) -> Pages[FileInfo]:
        """Lists the files that belong to the caller's organisation, newest first."""
        filters = {"query": query, "f:type": type, "f:status": status}
        return Pages(self._service, "/v1/files", FileInfo, filters)

    def link(
        self,
        id: str,
        *,
        expires_in: int | None = None,
        width: Width | None = None,
        widths: Sequence[Width] = (),
    ) -> Link:
        """Returns a link that downloads a file without a token, for `expires_in` seconds (by default an hour)."""
        body = LinkForm.model_validate(_link(expires_in, width, widths))
        return self._service.one(Link, "POST", _file_path(id, "link"), body=body)

    def links(
        self,
        ids: Sequence[str],
        *,
        expires_in: int | None = None,
        width: Width | None = None,
        widths: Sequence[Width] = (),
    ) -> Sequence[FileLink]:
        """Returns links to up to 50 files, without those that the caller cannot read."""
        body = LinksForm.model_validate({"ids": [*ids], **_link(expires_in, width, widths)})
        return self._service.many(FileLink, "POST", "/v1/files/links", body=body)

    def resolve(self, form: ResolveFiles) -> Sequence[FileInfo]:
        """Returns the information on up to 50 files, and changes with whom they are shared."""
        return self._service.many(FileInfo, "POST", "/v1/files/resolve", body=form)

    def archive(self, id: str) -> ActionResult:
        """Archives a file: its information stays, its content does not."""
        return self._service.one(ActionResult, "DELETE", _file_path(id))

    def usage(self) -> StorageUsage:
        """Returns how much the caller's organisation stores."""
        return self._service.one(StorageUsage, "GET", "/v1/files/usage")


class Places:
    """Places, postcodes and three-word addresses. Needs no log-in."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def search(
        self,
        query: str | None = None,
        *,
        container_id: str | None = None,
        country: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
    ) -> AddressSearch:
        """Finds addresses, postcodes and places, or lists what a container contains; best matches first."""
        given_ = {"query": query, "id": container_id, "countryISO": country, "limit": limit, "offset": offset}
        return self._service.one(AddressSearch, "GET", "/v1/addresses", query=query_of(given_))

    def at(self, latitude: float, longitude: float) -> Location:
        """Returns the nearest place."""
        query = query_of({"lat": latitude, "lon": longitude})
        return self._service.one(Location, "GET", "/v1/locations/coordinates", query=query)

    def words(self, words: str) -> Location:
        """Returns the location with a three-word address."""
        query = query_of({"query": words})
        return self._service.one(Location, "GET", "/v1/locations/three-words", query=query)

    def address(self, id: str, source: str | None = None) -> Location:
        """Returns the location of a match of `search`, by its `id` and `source`."""
        query = query_of({"id": id, "source": source})
        return self._service.one(Location, "GET", "/v1/locations/address", query=query)

    def countries(self, *, enabled: bool | None = None) -> dict[str, Country]:
        """Returns the countries by their ISO 3166-1 alpha-2 codes."""
        answer = self._service.json("GET", "/v1/countries", query=query_of({"enabled": enabled}))
        return {code: parsed(Country, country) for code, country in answer.items()}

    def regions(self, country: str | None = None) -> CountryRegions:
        """Returns the regions of a country, by default those of `GB`."""
        query = query_of({"countryISO": country})
        return self._service.one(CountryRegions, "GET", "/v1/regions", query=query)


class ServiceAccounts:
    """The accounts by which programs of the caller's organisation log in."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def list(self) -> Pages[ServiceAccount]:
        """Lists the accounts."""
        return Pages(self._service, "/v1/service-accounts", ServiceAccount, {})

    def get(self, id: str) -> ServiceAccount:
        """Returns an account, without its secret."""
        return self._service.one(ServiceAccount, "GET", _account_path(id))

    def create(
        self,
        name: str,
        *,
        roles: Sequence[Role] = (),
        expires_at: Day | None = None,
        idempotency_key: str | None = None,
    ) -> ServiceAccount:
        """Creates an account. Store the `client_secret` of the answer: it is not shown again.

        Raises `SecretLost` if the account exists, but the answer with its secret was lost.
        """
        form: dict[str, Any] = {"name": name, "roles": [*roles] or None}
        form["expiresAtUTC"] = dict(query_of({"": expires_at})).get("")
        options = {"json": given(form), "idempotency_key": idempotency_key}
        created = self._service.one(ServiceAccount, "POST", "/v1/service-accounts", **options)
        if created.client_secret is None:
            raise SecretLost(created.id, rotated=False)
        return created

    def edit(self, id: str, changes: ServiceAccountPatch) -> ServiceAccount:
        """Changes the name or the roles of an account."""
        return self._service.one(ServiceAccount, "PATCH", _account_path(id), body=changes)

    def rotate_secret(self, id: str) -> ServiceAccount:
        """Returns the account with a new secret. For 24 hours, the old one works too.

        Raises `SecretLost` if the secret was rotated, but the answer with the new one was lost.
        """
        rotated = self._service.one(ServiceAccount, "POST", _account_path(id, "rotate-secret"))
        if rotated.client_secret is None:
            raise SecretLost(id, rotated=True)
        return rotated

    def delete(self, id: str) -> ActionResult:
        """Deletes an account. Its tokens work until they expire, ten minutes at most."""
        return self._service.one(ActionResult, "DELETE", _account_path(id))


class AddressBook:
    """The organisations and drivers with which the caller's organisation has loads, and its block list."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def organisations(self, query: str | None = None) -> Pages[OrganisationContact]:
        """Lists organisations by their names."""
        return Pages(self._service, "/v1/organisations", OrganisationContact, {"query": query})

    def drivers(self, query: str | None = None) -> Pages[DriverContact]:
        """Lists the drivers to whom the organisation has sent loads."""
        return Pages(self._service, "/v1/drivers", DriverContact, {"query": query})

    def blocked(self) -> Pages[BlockedOrganisation]:
        """Lists the organisations that the caller's has blocked, newest first."""
        return Pages(self._service, "/v1/organisations", BlockedOrganisation, {"f:blocked": True})

    def block(self, id: str) -> ActionResult:
        """Keeps an organisation from naming the caller's as organiser or carrier of further loads."""
        return self._service.one(ActionResult, "PUT", f"/v1/organisations/{segment(id)}/block")

    def unblock(self, id: str) -> ActionResult:
        """Ends a block."""
        return self._service.one(ActionResult, "DELETE", f"/v1/organisations/{segment(id)}/block")


def _file_path(id: str, *rest: str) -> str:
    return "/".join(["/v1/files", segment(id), *rest])


def _account_path(id: str, *rest: str) -> str:
    return "/".join(["/v1/service-accounts", segment(id), *rest])


def _link(expires_in: int | None, width: int | None, widths: Sequence[int]) -> dict[str, object]:
    return given({"expiresInSeconds": expires_in, "width": width, "widths": [*widths] or None})
