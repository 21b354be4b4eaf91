"""Hooks of schemathesis: its two data checks, with exceptions for rules of docs/api that JSON Schema cannot express.

schemathesis.toml disables the original checks.
"""

import json
import os
import re
from datetime import timezone

import jsonschema_rs
import schemathesis
from hypothesis import strategies
from schemathesis.auths import AuthContext, set_on_case
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

# A successful request for each operation in it, by operation id (examples.rs).
EXAMPLES = json.loads(os.environ["DROVER_FUZZ_EXAMPLES"])

# Entries of `validation` with which a request that matches its schema may be rejected: patterns of operation id and
# path, and a code. `unknown_reference` depends on stored objects, `inconsistent` on other members.
LISTING = r"create_\w+_listing|update_listing"
LOAD = r"create_load_as_\w+"
PROOF = r"prove_delivery(_of_load)?"
CHANGE = r"update_load|correct_proof_of_delivery"
SAVED_SEARCH = r"(create|update)_saved_search"
PAGED = r"list_(load_events|load_batches|notifications|organisations|webhooks|webhook_deliveries|service_accounts|files|events_of_listing|reports|enquiries|saved_searches)"
PRICES = r"price\.(pricePerUnit|minPrice|maxPrice)"
SEARCH_CODES = ["required", "inconsistent", "format", "enum", "length", "range", "type", "unknown_reference"]
RULES_BEYOND_SCHEMA = [
    (LISTING, r"(categoryIds|files)\[\d+\](\.id)?", "unknown_reference"),
    (LOAD, r"commodityId|files\[\d+\]\.id", "unknown_reference"),
    (PROOF, r"loadId|files\[\d+\]\.id", "unknown_reference"),
    (CHANGE, r"commodityId|files\[\d+\]\.id", "unknown_reference"),
    (CHANGE, r".*", "inconsistent"),
    (r"update_load", r"carrierId", "required"),  # with carrierName
    (r"correct_proof_of_delivery", r"weightNet", "required"),  # or another value
    (r"send_load_to_(carrier|driver)", r"loadId", "unknown_reference"),
    (LISTING, PRICES + r"(\.(currency|amount))?|properties\.\w+", "inconsistent"),
    (PROOF + "|" + LOAD, r".*", "inconsistent"),
    (r"(collect|reject|change)_loads?", r".*", "inconsistent"),
    (r"(collect|reject)_load|add_files_to_load", r"files\[\d+\]\.id", "unknown_reference"),
    (r"reject_load", r"note", "required"),  # with the reason other
    (PROOF + r"|correct_proof_of_delivery|(collect|reject)_load", r"quality\[\d+\]\.value", "range"),
    (PROOF + r"|(collect|reject)_load", r"capturedAtUTC", "range"),
    (r"send_enquiry", r"phone|email", "format"),
    (r"send_enquiry", r"phone|email", "required"),  # one of the two
    (r"change_loads", r"(carrier|driver)Id", "required"),
    (r"summarize_loads", r"format|timeZone", "enum"),
    (r"summarize_loads", r"startDateISO|query", r"inconsistent"),
    (r"summarize_loads", r"query", "length"),
    (r"search_\w+|export_completed_loads", r".*", "inconsistent"),
    # Must come from a `next` link.
    (r"search_(loads|listings)|list_listings_of_saved_search|" + PAGED, r"cursor", "format"),
    (r"list_events", r"after", "format"),  # a cursor, or `now`
    (r"list_events", r"newest", "inconsistent"),  # with after
    # Values are case-insensitive.
    (r"search_(loads|listings)|export_completed_loads|find_load_batch_template", r"format", "enum"),
    (r"find_location_by_address(_public)?", r"source", "enum"),
    (r"(list_regions|search_addresses)(_public)?", r"countryISO", "enum"),
    (r"update_settings", r"logging\.level", "enum"),
    (LISTING, PRICES + r"\.currency", "enum"),
    (LISTING, r"location\.address\.countryISO", "enum"),
    (LISTING, r"properties\.sexes", "enum"),  # a comma-separated list
    (r"update_settings", r"logging\.filter", "format"),  # tracing directives
    (r"search_(loads|listings)", r"limit", "range"),  # at most 100 for JSON, a million for CSV
    (r"find_location_by_words(_public)?", r"query", "format"),  # three words of the word list
    (r"search_addresses(_public)?", r"query", "required"),  # unless `id` is present
    # A blank value counts as empty.
    (r"find_location_by_words(_public)?", r"query", "required"),
    (r"find_location_by_address(_public)?", r"id", "required"),
    (r"list_(loads|listings)_by_ids", r"ids", "required"),
    # Ids or the text `*`.
    (r"resolve_files", r"(un)?shareWith", "enum"),
    (r"resolve_files", r"unshareWith", "inconsistent"),  # a name is also in shareWith
    (r"resolve_files", r"shareWith", "length"),  # of the resulting list
    (r"upload_file|create_load_batch", r"file", "format"),  # depends on the content
    (r"upload_file|create_load_batch", r"file", "length"),  # an empty file
    (r"create_load_batch", r"file", "inconsistent"),  # the content was imported before
    (r"upload_file", r"name", "length"),  # of the last path component
    (r"upload_file", r"organisations", "length"),  # of the list and of its elements
    # A comma separates the values of a filter, so a value must not contain one.
    (LISTING, r"properties\.(breed|breedType|breedSociety)", "format"),
    (r"search_listings", r"near", "unknown_reference"),
    (r"search_listings", r"bbox", "range"),  # other limits for longitudes and latitudes
    (r"search_listings", r"latitude|longitude", "required"),  # both or neither; distances need both
    (LISTING, PRICES, "required"),  # depends on the type of the price
    (r"search_\w+|find_location_by_words(_public)?", r"query", "length"),  # counted in words
    (r"list_(organisations|drivers)", r"query", "length"),  # counted in words
    (r"list_organisations", r"query", "inconsistent"),  # with f:blocked
    (r"block_organisation", r"id", "inconsistent"),  # the own organisation
    (LOAD, r"(organiser|carrier)Name", "required"),  # unless the address book has it
    (r"list_(loads|listings)_by_ids", r"ids", "length"),  # counted in ids
    (PROOF + "|upload_file|" + LOAD, r"capturedAtUTC", "range"),  # relative to now and to the dates of the load
    (LISTING, r"properties\.registration\.dateOfBirth", "range"),  # relative to now
    (LOAD + "|" + PROOF + "|" + CHANGE, r"vehicleRegistration", "length"),  # of the upper-case text
    (r"(create|update)_webhook", r"url", "format"),  # https, a public host, no credentials
    (r"update_webhook", r".*", "inconsistent"),  # members that cannot be edited
    (r"update_service_account", r".*", "inconsistent"),  # members that cannot be edited
    (r"create_service_account", r"expiresAtUTC", "range"),  # relative to now
    (r"update_listing", r".*", "inconsistent"),  # members that cannot be edited, and rules for creating
    (r"update_listing", r".*", "required"),  # a nested member of the result
    (r"list_listings_of_saved_search", r"sortBy", "inconsistent"),  # distances need a point in the saved search
    # The parameters are those of the listing search, whose rules the schema of saved searches does not repeat.
    *((SAVED_SEARCH, r"parameters(\..*)?", code) for code in SEARCH_CODES),
    (r"clear_cache", r"(prefixes|keys)\[\d+\]", "format"),  # keys of secrets are refused
]

IGNORED_PARAMETERS = {"Idempotency-Key", "If-Match", "Last-Event-ID", "wait"}

# Operations that only a party of the load may call, not even an administrator. Whether they return 403 depends on the
# load.
PARTY_OPERATIONS = {"accept_load"}

# Operations that a user may call only so often in an hour.
LIMITED_OPERATIONS = {"create_note"}

# The operation that needs a client secret, and whose errors are those of RFC 6749.
TOKEN_OPERATION = "create_token"

schemathesis.openapi.format(
    "date-or-date-time",
    strategies.one_of(
        strategies.dates().map(str),
        strategies.datetimes(timezones=strategies.just(timezone.utc)).map(lambda time: time.isoformat()),
    ),
)


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Removes `Idempotency-Key` and `If-Match`: a key that is reused for another request is rejected, and so are other
    revisions. Other tests cover these headers. Nothing waits for events, and the stream of events, which does not end,
    is left out. Stored content has any media type."""
    raw_schema["paths"].pop("/v1/events/stream", None)
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            for response in operation["responses"].values():
                content = response.get("content", {})
                if "application/octet-stream" in content:
                    content["*/*"] = content.pop("application/octet-stream")
            parameters = operation.get("parameters", [])
            operation["parameters"] = [item for item in parameters if item["name"] not in IGNORED_PARAMETERS]


@schemathesis.hook
def before_add_examples(context, examples):
    """Adds the example request of the operation."""
    example = EXAMPLES.get(context.operation.definition.raw["operationId"])
    if example:
        case = context.operation.Case(**example)
        set_on_case(case, AuthContext(operation=case.operation, app=case.operation.app), None)
        examples.append(case)


@schemathesis.check
def valid_request_is_accepted(ctx, response, case):
    """Runs `positive_data_acceptance`. RULES_BEYOND_SCHEMA lists the exceptions."""
    try:
        positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        operation = case.operation.definition.raw["operationId"]
        if response.status_code == 403 and operation in PARTY_OPERATIONS:
            return
        if response.status_code == 429 and operation in LIMITED_OPERATIONS:
            return
        if response.status_code in (400, 401) and operation == TOKEN_OPERATION:
            return
        error = response.json() if response.status_code == 400 else {"validation": []}
        entries = error["validation"]
        is_excused = entries and all(is_beyond_schema(case, entry) for entry in entries)
        if not is_unreadable_form(error, case) and not is_excused:
            raise


@schemathesis.check
def invalid_request_is_rejected(ctx, response, case):
    """Runs `negative_data_rejection`. Exceptions are values that count as absent: empty query parameters, and optional
    members that are null or blank (docs/api/conventions.md)."""
    try:
        negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        root = case.operation.schema.raw_schema
        operation = root["paths"][case.operation.path][case.operation.method]
        content = operation.get("requestBody", {}).get("content", {})
        schemas = [media["schema"] for media in content.values()]
        # The request must be valid without its blank values.
        query = {name: value for name, value in (case.query or {}).items() if not is_blank(value)}
        body = without_blanks(case.body, {"anyOf": schemas}, root) if schemas else case.body
        if case.media_type == "multipart/form-data" and isinstance(body, dict) and "file" in body:
            body = {**body, "file": ["any"]}  # a file may have any content, also the text of a value of another type
        has_blanks = query != (case.query or {}) or body != case.body
        if not has_blanks or not is_valid_query(query, operation, root) or not is_valid_body(body, content, root):
            raise


def is_unreadable_form(error, case):
    """Returns whether a form is rejected because of the content of a file, or because the name of a part has control
    characters, which headers must not contain."""
    if "failedRows" in error.get("body", {}):
        return True
    if case.media_type != "multipart/form-data" or error.get("code") != "malformed_body":
        return False
    has_control_character = any(ord(char) < 32 or ord(char) == 127 for name in case.body for char in name)
    return has_control_character or error["message"].startswith("The body cannot be read: the file")


def is_beyond_schema(case, entry):
    """Returns whether an entry of `validation` is about a rule that the schema cannot express."""
    operation = case.operation.definition.raw["operationId"]
    if entry["code"] == "length" and entry["data"] == {"minimum": 1}:
        return is_blank_at(case, entry["path"])
    return any(
        re.fullmatch(operations, operation) and re.fullmatch(path, entry["path"]) and code == entry["code"]
        for operations, path, code in RULES_BEYOND_SCHEMA
    )


def is_blank_at(case, path):
    """Returns whether the value at the path is blank, which counts as empty."""
    for value in (case.query, case.path_parameters, case.body):
        for part in re.findall(r"[^.\[\]]+", path):
            if isinstance(value, list) and not part.isdigit() and value:
                value = value[0]  # a list of one
            try:
                value = value[int(part) if isinstance(value, list) else part]
            except (LookupError, TypeError, ValueError):
                break
        else:
            return is_blank(value)
    return False


def is_blank(value):
    return value is None or value == [] or isinstance(value, str) and not value.strip()


def is_valid(value, schema, root):
    return jsonschema_rs.validator_for({**schema, "components": root.get("components", {})}).is_valid(value)


def is_valid_query(query, operation, root):
    """Returns whether each parameter matches its schema, either as text or as the JSON value of the text."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "query" or parameter["name"] not in query:
            continue
        value = query[parameter["name"]]
        candidates = [value]
        if isinstance(value, str):
            try:
                candidates.append(json.loads(value))
            except ValueError:
                pass
        else:
            candidates.append(str(value))
        if not any(is_valid(candidate, parameter["schema"], root) for candidate in candidates):
            return False
    return True


def is_valid_body(body, content, root):
    # Forms consist of text and files only, so their schemas are not checked.
    json_schemas = [media["schema"] for kind, media in content.items() if kind == "application/json"]
    return not json_schemas or any(is_valid(body, schema, root) for schema in json_schemas)


def without_blanks(value, schema, root):
    """Returns the value without the optional members that count as absent."""
    while "$ref" in schema:
        schema = root["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    for key in ("oneOf", "anyOf", "allOf"):
        for branch in schema.get(key, []):
            value = without_blanks(value, branch, root)
    if isinstance(value, list):
        return [without_blanks(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    members, required = schema.get("properties", {}), schema.get("required", [])
    return {
        name: without_blanks(member, members.get(name, {}), root)
        for name, member in value.items()
        if name not in members or name in required or not is_blank(member)
    }
