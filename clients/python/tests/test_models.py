"""The models and filters say what the OpenAPI documents of the services say."""

import json
import re
import unittest
from pathlib import Path
from types import ModuleType
from typing import Any

import drover
from drover import filters, models
from drover._http import wire_names
from drover._model import Model
from drover.models.logistics import LoadPatch, OrganiserForm, Webhook
from drover.models.system import ServiceAccount

from .server import load

SERVICES = Path(__file__).resolve().parents[3] / "services"
MODULES: dict[str, ModuleType] = {
    "system": models.system,
    "logistics": models.logistics,
    "livestock": models.livestock,
}


def document(service: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads((SERVICES / service / "openapi.json").read_text())
    return parsed


class Names(unittest.TestCase):
    def members(self, schemas: dict[str, Any], schema: dict[str, Any]) -> set[str]:
        names = set(schema.get("properties", {}))
        for part in schema.get("allOf", []):
            names |= self.members(schemas, schemas[part["$ref"].split("/")[-1]] if "$ref" in part else part)
        return names

    def test_members_have_their_names_in_json(self) -> None:
        compared = 0
        for service, module in MODULES.items():
            schemas = document(service)["components"]["schemas"]
            for name, schema in schemas.items():
                model = getattr(module, name, None)
                if isinstance(model, type) and issubclass(model, Model):
                    names = {field.alias for field in model.model_fields.values()}
                    self.assertEqual(names, self.members(schemas, schema), name)
                    compared += 1
        self.assertGreater(compared, 150)

    def test_filters_are_the_parameters_of_the_searches(self) -> None:
        own = {"limit", "offset", "cursor", "count", "format", "bom", "docs", "clusterZoom"}
        for kind, service, path in [
            (filters.LoadSearchFilters, "logistics", "/v1/loads"),
            (filters.ListingSearchFilters, "livestock", "/v1/listings"),
        ]:
            parameters = document(service)["paths"][path]["get"]["parameters"]
            names = {parameter["name"] for parameter in parameters} - own
            self.assertEqual(set(wire_names(kind).values()), names)

    def test_options_are_the_fields_of_the_batch(self) -> None:
        own = {"file", "dryRun", "format"}
        schema = document("logistics")["components"]["schemas"]["LoadBatchForm"]
        self.assertEqual(set(wire_names(filters.ImportOptions).values()), set(schema["properties"]) - own)

    def test_the_version_is_that_of_the_services(self) -> None:
        found = re.search(r'^version = "(.+?)"', (SERVICES.parent / "Cargo.toml").read_text(), re.MULTILINE)
        assert found is not None
        self.assertEqual(drover.__version__, found[1].replace("-dev", ".dev0"))


class Values(unittest.TestCase):
    def test_unknown_members_and_values_are_kept(self) -> None:
        sent = load(
            status="weighed", harvestedBy="Dai", commodity={"id": 1, "name": "Feed Wheat", "grade": "A"}
        )
        read = models.logistics.Load.model_validate(sent)
        self.assertEqual(read.status, "weighed")
        self.assertEqual(read.model_extra, {"harvestedBy": "Dai"})
        self.assertEqual(read.to_json()["commodity"], {"id": 1, "name": "Feed Wheat", "grade": "A"})

    def test_a_patch_contains_what_was_set(self) -> None:
        self.assertEqual(
            LoadPatch(weight=None, pickup_postcode="HR4 9AR").to_json(),
            {"weight": None, "pickupPostcode": "HR4 9AR"},
        )
        self.assertEqual(LoadPatch().to_json(), {})

    def test_members_can_be_given_by_their_names_in_json(self) -> None:
        form = {
            **{"organiserId": "a", "organiserName": "A", "commodityId": 1, "reference": "1", "weight": 1},
            **{"deliveryDateISO": "2026-03-01", "weightNet": None, "files": None, "tags": []},
        }
        self.assertEqual(OrganiserForm.model_validate(form).to_json(), form)

    def test_no_secret_is_shown(self) -> None:
        at = "2026-03-01T09:30:00.000Z"
        hook = Webhook.model_validate(
            {
                **{
                    "id": "1",
                    "url": "https://example.com/",
                    "events": [],
                    "status": "active",
                    "scope": "own",
                },
                **{"createdAtUTC": at, "updatedAtUTC": at, "revision": 1, "secret": "hidden"},
            }
        )
        account = ServiceAccount.model_validate(
            {
                **{"id": "1", "name": "bridge", "organisationId": "a", "roles": [], "clientId": "c"},
                **{"createdAtUTC": at, "clientSecret": "hidden"},
            }
        )
        self.assertEqual((hook.secret, account.client_secret), ("hidden", "hidden"))
        for shown in (repr(hook), str(hook), repr(account), f"{account}"):
            self.assertNotIn("hidden", shown)


if __name__ == "__main__":
    unittest.main()
