"""What the contract says that no JSON Schema can: schemathesis' two checks of data with these exceptions and no others.

Loaded by schemathesis.toml, which turns the two bare checks off.
"""

import json
import os
import re

import jsonschema_rs
import schemathesis
from schemathesis.auths import AuthContext, set_on_case
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

# A request that succeeds, by operation: what the trial has made says which.
KNOWN = json.loads(os.environ["DROVER_FUZZ_KNOWN"])

# Entries of `validation` that a request may be refused with though it keeps its schema: operation and path (patterns),
# code, and why no schema can say so. `unknown_reference` and `inconsistent` are of what is stored and of other members.
LISTING = r"create_\w+_listing"
LOAD = r"create_load_as_\w+"
PROOF = r"prove_delivery(_of_load)?"
PRICES = r"price\.(pricePerUnit|minPrice|maxPrice)"
UNSTATED = [
    (LISTING, r"(categoryIds|files)\[\d+\](\.id)?", "unknown_reference"),
    (LOAD, r"commodityId|files\[\d+\]\.id", "unknown_reference"),
    (PROOF, r"loadId|files\[\d+\]\.id", "unknown_reference"),
    (r"send_load_to_(carrier|driver)", r"loadId", "unknown_reference"),
    (LISTING, PRICES + r"(\.(currency|amount))?|properties\.\w+", "inconsistent"),
    (PROOF + "|" + LOAD, r".*", "inconsistent"),
    (r"search_\w+|export_completed_loads", r".*", "inconsistent"),
    (r"search_(loads|listings)", r"cursor", "format"),  # only what a next link gave out
    # Allowed values, which are taken in any case.
    (r"search_(loads|listings)|export_completed_loads", r"format", "enum"),
    (r"find_location_by_address(_public)?", r"source", "enum"),
    (r"(list_regions|search_addresses)(_public)?", r"countryISO", "enum"),
    (r"update_settings", r"logging\.level", "enum"),
    (LISTING, PRICES + r"\.currency", "enum"),
    (LISTING, r"properties\.sexes", "enum"),  # several of them, comma-separated
    (r"update_settings", r"logging\.filter", "format"),  # directives of tracing
    (r"search_(loads|listings)", r"limit", "range"),  # JSON has 100 rows at most, CSV a million
    (r"find_location_by_words(_public)?", r"query", "format"),  # three words of the grid
    (r"search_addresses(_public)?", r"query", "required"),  # unless there is an id
    # Blank counts as empty.
    (r"find_location_by_words(_public)?", r"query", "required"),
    (r"find_location_by_address(_public)?", r"id", "required"),
    (r"list_loads_by_ids", r"ids", "required"),
    # Ids, or the text *: its own sentence says it better than a pattern's.
    (r"resolve_files", r"(un)?shareWith", "enum"),
    (r"resolve_files", r"unshareWith", "inconsistent"),  # a name that is in shareWith too
    (r"resolve_files", r"shareWith", "length"),  # of all organisations that a file has then
    (r"upload_file|create_load_batch", r"file", "format"),  # by its content: no image, no table
    (r"upload_file|create_load_batch", r"file", "length"),  # an empty one
    (r"create_load_batch", r"file", "inconsistent"),  # the same content twice
    (r"upload_file", r"name", "length"),  # of its last path component
    (r"upload_file", r"organisations", "length"),  # of each in the list, and of the list
    # A comma separates the values of a filter.
    (LISTING, r"properties\.(breed|breedType|breedSociety)", "format"),
    (r"search_listings", r"latitude|longitude", "required"),  # each needs the other, and distances both
    (LISTING, PRICES, "required"),  # by the type of the price
    (r"search_\w+|find_location_by_words(_public)?", r"query", "length"),  # counted in words
    (r"list_loads_by_ids", r"ids", "length"),  # counted in ids
    (PROOF + "|upload_file|" + LOAD, r"capturedAtUTC", "range"),  # counted from now, and from the dates of the load
    (LISTING, r"properties\.registration\.dateOfBirth", "range"),  # as well
    (LOAD + "|" + PROOF, r"vehicleRegistration", "length"),  # of its upper case
    (r"clear_cache", r"(prefixes|keys)\[\d+\]", "format"),  # keys of secrets
]

# Operations that only a party may call, also where an administrator may call all others: 403 depends on the load.
PARTIES_ONLY = {"accept_load"}


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Without `Idempotency-Key`: one that comes again with another request is refused, and the tests of `common` ask
    all there is to ask of it."""
    for operations in raw_schema["paths"].values():
        for operation in operations.values():
            parameters = operation.get("parameters", [])
            operation["parameters"] = [one for one in parameters if one["name"] != "Idempotency-Key"]


@schemathesis.hook
def before_add_examples(context, examples):
    """What chance seldom comes upon."""
    known = KNOWN.get(context.operation.definition.raw["operationId"])
    if known:
        case = context.operation.Case(**known)
        set_on_case(case, AuthContext(operation=case.operation, app=case.operation.app), None)
        examples.append(case)


@schemathesis.check
def keeps_its_schema_and_is_accepted(ctx, response, case):
    """`positive_data_acceptance`, but for what UNSTATED names."""
    try:
        positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        operation = case.operation.definition.raw["operationId"]
        if response.status_code == 403 and operation in PARTIES_ONLY:
            return
        refusal = response.json() if response.status_code == 400 else {"validation": []}
        entries = refusal["validation"]
        if not is_no_form(refusal, case) and not (entries and all(is_unstated(case, entry) for entry in entries)):
            raise


@schemathesis.check
def breaks_its_schema_and_is_refused(ctx, response, case):
    """`negative_data_rejection`, but for what counts as absent (contract.md, section 6): an empty query value, an
    optional member that is null or blank."""
    try:
        negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        root = case.operation.schema.raw_schema
        operation = root["paths"][case.operation.path][case.operation.method]
        content = operation.get("requestBody", {}).get("content", {})
        schemas = [media["schema"] for media in content.values()]
        # What is left without the blanks must be right: a blank excuses nothing but itself.
        query = {name: value for name, value in (case.query or {}).items() if not is_blank(value)}
        body = without_blanks(case.body, {"anyOf": schemas}, root) if schemas else case.body
        blanks = query != (case.query or {}) or body != case.body
        if not blanks or not is_right_query(query, operation, root) or not is_right_body(body, content, root):
            raise


def is_no_form(refusal, case):
    """Whether a form is refused for what no schema says: what is in a file, or a part whose name has control
    characters, which no header may have."""
    if "failedRows" in refusal.get("body", {}):
        return True
    if case.media_type != "multipart/form-data" or refusal.get("code") != "malformed_body":
        return False
    controls = any(ord(char) < 32 or ord(char) == 127 for name in case.body for char in name)
    return controls or refusal["message"].startswith("The body cannot be read: the file")


def is_unstated(case, entry):
    operation = case.operation.definition.raw["operationId"]
    if entry["code"] == "length" and entry["data"] == {"minimum": 1}:
        return is_blank_at(case, entry["path"])
    return any(
        re.fullmatch(who, operation) and re.fullmatch(path, entry["path"]) and code == entry["code"]
        for who, path, code in UNSTATED
    )


def is_blank_at(case, path):
    """Whether the value at the path is blank, which counts as empty."""
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


def is_right(value, schema, root):
    return jsonschema_rs.validator_for({**schema, "components": root.get("components", {})}).is_valid(value)


def is_right_query(query, operation, root):
    """Whether each parameter keeps its schema, as the text that it is sent as or as the value it stands for."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "query" or parameter["name"] not in query:
            continue
        value = query[parameter["name"]]
        forms = [value]
        if isinstance(value, str):
            try:
                forms.append(json.loads(value))
            except ValueError:
                pass
        else:
            forms.append(str(value))
        if not any(is_right(form, parameter["schema"], root) for form in forms):
            return False
    return True


def is_right_body(body, content, root):
    # Forms are texts and files, whatever type the values had.
    json_schemas = [media["schema"] for kind, media in content.items() if kind == "application/json"]
    return not json_schemas or any(is_right(body, schema, root) for schema in json_schemas)


def without_blanks(value, schema, root):
    """The value without the optional members that count as absent."""
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
