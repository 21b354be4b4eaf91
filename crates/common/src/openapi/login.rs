//! The login of the docs page in the OpenAPI document.

use serde_json::{Map, Value, json};

use crate::config::DocsLogin;

/// Name of the security scheme.
const SCHEME: &str = "login";

/// Adds the login as a second security scheme, beside `bearer`, to the document and to each operation that needs a
/// token.
pub(crate) fn add_login(document: &mut Value, login: &DocsLogin) {
    let scopes: Map<_, _> = login.scopes.iter().map(|scope| (scope.clone(), json!(""))).collect();
    document["components"]["securitySchemes"][SCHEME] = json!({
        "type": "oauth2",
        "flows": {"authorizationCode": {
            "authorizationUrl": login.authorization_url,
            "tokenUrl": login.token_url,
            "scopes": scopes,
        }},
    });
    let items = document["paths"].as_object_mut().into_iter().flat_map(|paths| paths.values_mut());
    for operation in items.filter_map(Value::as_object_mut).flat_map(|item| item.values_mut()) {
        if let Some(security) = operation.get_mut("security").and_then(Value::as_array_mut) {
            security.push(json!({SCHEME: []}));
        }
    }
}
