//! The events in the OpenAPI document of a service: its section `webhooks`, and the enumeration of their names.

use serde_json::{Value, json};

use crate::event::TEST_EVENT;
use crate::webhook::EVENT_NAME_SCHEMA;

/// An event of a service.
#[derive(Clone, Copy, Debug)]
pub struct EventDescription {
    /// The name, such as `load.created`.
    pub name: &'static str,
    /// When it is sent, as a sentence.
    pub summary: &'static str,
    /// The name of the schema of its body. Events with the same `data` share it.
    pub schema: &'static str,
    /// The members of `data` with their schemas.
    pub data: &'static [(&'static str, DataSchema)],
    /// The members of `data` that some events have.
    pub optional: &'static [(&'static str, DataSchema)],
    /// True if organisations can subscribe to it.
    pub is_subscribable: bool,
}

impl EventDescription {
    /// Returns true for the events of the webhooks of organisations, false for those of the webhook of the deployment.
    fn is_of_organisations(&self) -> bool {
        self.is_subscribable || self.name == TEST_EVENT
    }
}

/// The schema of a member of `data`.
#[derive(Clone, Copy, Debug)]
pub enum DataSchema {
    /// A UUID.
    Id,
    /// Another text.
    Text,
    /// An array of texts.
    Texts,
    /// The saved searches that found a listing.
    Matches,
    /// The changed members by their names in requests.
    Changes,
    /// The schema of the document with this name.
    Named(&'static str),
    /// An object with these members.
    Object(&'static [(&'static str, DataSchema)]),
}

impl DataSchema {
    fn schema(self) -> Value {
        match self {
            Self::Id => json!({ "type": "string", "format": "uuid" }),
            Self::Text => json!({ "type": "string" }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" } }),
            Self::Matches => json!({ "type": "array", "items": { "type": "object",
                "required": ["savedSearchId", "name", "userId"],
                "properties": {
                    "savedSearchId": { "type": "string", "format": "uuid" },
                    "name": { "type": "string" },
                    "userId": { "type": "string" }
                } } }),
            Self::Changes => json!({ "type": "object",
                "additionalProperties": { "$ref": "#/components/schemas/Change" } }),
            Self::Named(name) => json!({ "$ref": format!("#/components/schemas/{name}") }),
            Self::Object(members) => {
                let names: Vec<_> = members.iter().map(|(name, _)| name).collect();
                let properties: serde_json::Map<_, _> =
                    members.iter().map(|(name, schema)| ((*name).to_owned(), schema.schema())).collect();
                json!({ "type": "object", "required": names, "properties": properties })
            }
        }
    }
}

/// The event of a test, which every service sends.
const TEST: EventDescription = EventDescription {
    name: TEST_EVENT,
    summary: "The organisation tested the webhook.",
    schema: "WebhookTestMessage",
    data: &[("webhookId", DataSchema::Id)],
    optional: &[],
    is_subscribable: false,
};

/// Adds events to the OpenAPI document of a service. Several may have the same name: those of the webhooks of
/// organisations, and those of the webhook of the deployment.
pub fn describe(document: &mut Value, events: &[EventDescription]) {
    let names: Vec<_> = events.iter().filter(|event| event.is_subscribable).map(|event| event.name).collect();
    let schemas = &mut document["components"]["schemas"];
    let webhook = json!({ "url": "https://hooks.example/drover", "events": names, "description": "Office" });
    let examples = [
        ("WebhookForm", "/v1/webhooks", webhook),
        ("WebhookTest", "/v1/webhooks/{id}/test", json!({ "event": names.first() })),
    ];
    for (schema, _, example) in &examples {
        schemas[*schema]["example"] = example.clone();
    }
    schemas[EVENT_NAME_SCHEMA] =
        json!({ "type": "string", "enum": names, "description": "The name of an event." });
    for event in events.iter().chain([&TEST]) {
        let of_schema = events.iter().chain([&TEST]).filter(|other| other.schema == event.schema);
        let names: Vec<_> = of_schema.map(|event| event.name).collect();
        schemas[event.schema] = message_schema(event, &names);
    }
    let filter = document.pointer_mut("/paths/~1v1~1webhooks~1{id}~1deliveries/get/parameters");
    for parameter in filter.and_then(Value::as_array_mut).into_iter().flatten() {
        if parameter["name"] == "f:event" {
            parameter["schema"]["enum"] = names.iter().copied().chain([TEST_EVENT]).collect();
        }
    }
    for (_, path, example) in examples {
        document["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"] = example;
    }
    for event in events.iter().chain([&TEST]) {
        // The webhook of the deployment gets some events of the same names with further members.
        let key = if event.is_of_organisations() {
            event.name.to_owned()
        } else {
            format!("deployment.{}", event.name)
        };
        document["webhooks"][key.clone()] = operation(event, &key);
    }
}

fn message_schema(event: &EventDescription, names: &[&str]) -> Value {
    let members = event.data.iter().chain(event.optional);
    let mut data: serde_json::Map<_, _> =
        members.map(|(name, schema)| ((*name).to_owned(), schema.schema())).collect();
    if event.is_subscribable {
        data.insert(
            "test".to_owned(),
            json!({ "type": "boolean", "description": "`true` in a test, else absent" }),
        );
    }
    let required: Vec<_> = event.data.iter().map(|(name, _)| *name).collect();
    json!({
        "type": "object",
        "required": ["id", "type", "timestamp", "data"],
        "properties": {
            "id": { "type": "string", "format": "uuid", "description": "The id of the event, also in `webhook-id`." },
            "type": { "type": "string", "enum": names, "description": "The name of the event." },
            "timestamp": { "type": "string", "format": "date-time", "description": "When the event happened." },
            "data": { "type": "object", "required": required, "properties": data }
        }
    })
}

fn operation(event: &EventDescription, key: &str) -> Value {
    let words = key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let id = format!("on_{}", words.collect::<Vec<_>>().join("_"));
    let header = |name: &str, description: &str| {
        json!({ "name": name, "in": "header", "required": true, "description": description,
                "schema": { "type": "string" } })
    };
    let mut parameters = vec![
        header("webhook-id", "The id of the event, the same in every attempt"),
        header("webhook-timestamp", "When the attempt began, in seconds since 1970"),
        header("webhook-signature", "Signatures of the Standard Webhooks scheme, separated by spaces"),
    ];
    if event.is_of_organisations() {
        parameters.push(header("Drover-Webhook-Id", "The id of the webhook"));
    }
    json!({
        "post": {
            "operationId": id,
            "tags": ["events"],
            "summary": event.summary,
            // openapi-generator would make calls of its clients from it, and Python code that does not parse.
            "x-internal": true,
            "parameters": parameters,
            "requestBody": {
                "required": true,
                "content": { "application/json": { "schema": {
                    "$ref": format!("#/components/schemas/{}", event.schema)
                } } }
            },
            "responses": { "200": { "description": "Acknowledged. Every status 2xx acknowledges the event." } }
        }
    })
}
