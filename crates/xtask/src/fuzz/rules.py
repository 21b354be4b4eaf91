"""What the contract says that no JSON Schema can: schemathesis' two checks of data with these exceptions and no others.

Loaded by schemathesis.toml, which turns the two bare checks off.
"""

import re

import schemathesis
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import RejectedPositiveData
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

# Entries of `validation` that a request may be refused with though it keeps its schema: path (a pattern), code, and why
# no schema can say so. `unknown_reference` and `inconsistent` are of what is stored and of other members by their nature.
UNSTATED = [
    (r".*", "unknown_reference"),
    (r".*", "inconsistent"),
    (r"cursor", "format"),  # only what a next link gave out
    (r"format|source|countryISO|logging\.level", "enum"),  # allowed values, which are taken in any case
    (r"price\.(pricePerUnit|minPrice|maxPrice)\.currency", "enum"),  # as well
    (r"properties\.sexes", "enum"),  # several of them, comma-separated
    (r"logging\.filter", "format"),  # directives of tracing
    (r"limit", "range"),  # JSON has 100 rows at most, CSV a million
    (r"query", "format"),  # three words of the grid
    (r"query", "required"),  # unless there is an id
    (r"ids|id|query", "required"),  # blank counts as empty
    (r"shareWith", "enum"),  # ids, or the text *: its own sentence says it better than a pattern's
    (r"file", "format"),  # by its content: no image, no table
    (r"file", "length"),  # an empty one
    (r"name", "length"),  # of its last path component
    (r"organisations", "length"),  # of each in the list
    (r"latitude|longitude", "required"),  # each needs the other, and distances both
    (r"price\.(pricePerUnit|minPrice|maxPrice)", "required"),  # by the type of the price
    (r"query|ids", "length"),  # counted in words and ids
    (r"capturedAtUTC|properties\.registration\.dateOfBirth", "range"),  # counted from now
    (r"(prefixes|keys)\[\d+\]", "format"),  # keys of secrets
]


@schemathesis.check
def keeps_its_schema_and_is_accepted(ctx, response, case):
    """`positive_data_acceptance`, but for what UNSTATED names."""
    try:
        positive_data_acceptance(ctx, response, case)
    except RejectedPositiveData:
        refusal = response.json() if response.status_code == 400 else {"validation": []}
        entries = refusal["validation"]
        if not is_no_form(refusal, case) and not (entries and all(map(is_unstated, entries))):
            raise


@schemathesis.check
def breaks_its_schema_and_is_refused(ctx, response, case):
    """`negative_data_rejection`, but for what counts as absent (contract.md, section 6): an empty query value, an
    optional member that is null or blank."""
    try:
        negative_data_rejection(ctx, response, case)
    except AcceptedNegativeData:
        operation = case.operation.schema.raw_schema["paths"][case.operation.path][case.operation.method]
        content = operation.get("requestBody", {}).get("content", {}).values()
        schemas = [media["schema"] for media in content]
        root = case.operation.schema.raw_schema
        blank = any(map(is_blank, (case.query or {}).values()))
        if not blank and not any(has_blank(case.body, schema, root) for schema in schemas):
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


def is_unstated(entry):
    if entry["code"] == "length" and entry["data"] == {"minimum": 1}:
        return True  # blank counts as empty
    return any(re.fullmatch(path, entry["path"]) and code == entry["code"] for path, code in UNSTATED)


def is_blank(value):
    return value is None or value == [] or isinstance(value, str) and not value.strip()


def has_blank(value, schema, root):
    """Whether there is an optional member that counts as absent."""
    while "$ref" in schema:
        schema = root["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    branches = [branch for key in ("oneOf", "anyOf", "allOf") for branch in schema.get(key, [])]
    if any(has_blank(value, branch, root) for branch in branches):
        return True
    if isinstance(value, list):
        return any(has_blank(item, schema.get("items", {}), root) for item in value)
    if not isinstance(value, dict):
        return False
    members = schema.get("properties", {})
    optional = [name for name in members if name not in schema.get("required", [])]
    return any(name in value and is_blank(value[name]) for name in optional) or any(
        has_blank(value[name], member, root) for name, member in members.items() if name in value
    )
