"""Imports of loads from spreadsheets."""

import json
from typing import Any, BinaryIO

import httpx
from typing_extensions import Unpack

from .._http import Progress, Source, filters_of, opened, query_of, segment
from ..filters import ImportOptions
from ..models.logistics import BatchCancellation, BatchResult, CancelForm, LoadBatch
from .pages import AsyncPages, Format
from .transport import UPLOAD_TIMEOUT_SECONDS, AsyncService, model_of


class AsyncBatches:
    """Imports of loads from CSV and XLSX. All rows of a file are stored, or none."""

    def __init__(self, service: AsyncService) -> None:
        self._service = service

    async def import_file(
        self,
        file: Source,
        *,
        name: str | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        idempotency_key: str | None = None,
        **options: Unpack[ImportOptions],
    ) -> BatchResult:
        """Imports a file, or with `dry_run` runs all checks and stores nothing.

        Raises `ValidationFailed` with an entry for each invalid cell; `error.body` has `failedRows` and `recognised`.
        Raises `Conflict` (`imported_before`) for content that was imported before, unless `repeat` is set.
        """
        form = {**filters_of(ImportOptions, options), "dryRun": dry_run or None}
        response = await self._post(file, name, form, progress, idempotency_key)
        return model_of(BatchResult, response)

    async def problems(
        self,
        file: Source,
        into: BinaryIO,
        format: Format = "XLSX",
        *,
        name: str | None = None,
        **options: Unpack[ImportOptions],
    ) -> None:
        """Writes the sheet with a first column that lists what is wrong with each row. Stores nothing else."""
        form = {**filters_of(ImportOptions, options), "dryRun": True, "format": format}
        into.write((await self._post(file, name, form, None, None)).content)

    async def template(self, into: BinaryIO, format: Format = "XLSX") -> int:
        """Writes a sheet to fill in."""
        query = query_of({"format": format})
        return await self._service.save("GET", "/v1/loads/batch/template", into, query=query)

    def list(self) -> AsyncPages[LoadBatch]:
        """Lists the imports of the caller's organisation, newest first."""
        return AsyncPages(self._service, "/v1/loads/batches", LoadBatch, {})

    async def undo(self, id: str, reason: str | None = None) -> BatchCancellation:
        """Cancels the loads that a batch created and that are still upcoming. May be repeated."""
        path, body = f"/v1/loads/batches/{segment(id)}/cancel", CancelForm(reason=reason)
        return await self._service.one(BatchCancellation, "POST", path, body=body)

    async def _post(
        self, file: Source, name: str | None, form: dict[str, Any], progress: Progress | None, key: str | None
    ) -> httpx.Response:
        fields = {
            field: json.dumps(value) if field in ("headings", "corrections") else value
            for field, value in form.items()
        }
        with opened(file, progress) as (own_name, content):
            return await self._service.request(
                "POST",
                "/v1/loads/batch",
                data=dict(query_of(fields)),
                files={"file": (name or own_name, content)},
                idempotency_key=key,
                timeout=httpx.Timeout(UPLOAD_TIMEOUT_SECONDS, connect=10),
            )
