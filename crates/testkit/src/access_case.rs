//! What refuses a known caller who may not, operation by operation (contract, section 2).

use reqwest::multipart::Form;
use serde_json::Value;

use crate::client::TestRequest;
use crate::{App, User};

/// The rule of an operation.
pub enum AccessRule {
    /// It needs no token, and a bad one is ignored.
    Public,
    /// Any caller may; why there is nothing to refuse.
    AnyCaller(&'static str),
    /// Whoever has not the role `admin` is refused, whatever the request.
    Admin,
    /// Whoever acts for no organisation is refused, whatever the request.
    Member,
    /// Strangers are refused these requests, and nothing changes.
    Restricted(Vec<AccessCase>),
    /// Strangers may ask, and see nothing of what is others'.
    Scoped(Vec<AccessCase>),
}

/// A request over real things, who may make it and who may not.
pub struct AccessCase {
    pub(crate) path: String,
    pub(crate) may: Vec<User>,
    pub(crate) strangers: Vec<User>,
    /// What shows that nothing changed.
    pub(crate) kept: Option<String>,
    /// What only those see who may.
    pub(crate) shown: String,
    body: Body,
}

enum Body {
    None,
    Json(Value),
    Form(fn() -> Form),
}

impl AccessCase {
    /// A request to this path, which those may make and nobody else.
    pub fn new(path: impl Into<String>, may: &[&User]) -> Self {
        Self {
            path: path.into(),
            may: may.iter().copied().cloned().collect(),
            strangers: strangers(),
            kept: None,
            shown: String::new(),
            body: Body::None,
        }
    }

    /// With this JSON body.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// With this multipart form.
    #[must_use]
    pub fn form(mut self, form: fn() -> Form) -> Self {
        self.body = Body::Form(form);
        self
    }

    /// Nor may this one, who has a part in the thing.
    #[must_use]
    pub fn denies(mut self, user: &User) -> Self {
        self.strangers.push(user.clone());
        self
    }

    /// What an administrator reads there is the same before and after it was refused.
    #[must_use]
    pub fn leaves_unchanged(mut self, path: impl Into<String>) -> Self {
        self.kept = Some(path.into());
        self
    }

    /// The answer has this text for those only who may see it.
    #[must_use]
    pub fn discloses(mut self, text: impl Into<String>) -> Self {
        self.shown = text.into();
        self
    }

    pub(crate) fn call(&self, app: &App, method: &str) -> TestRequest {
        let call = app.call(method, &self.path);
        match &self.body {
            Body::None => call,
            Body::Json(body) => call.json(body),
            Body::Form(form) => call.form(form()),
        }
    }
}

/// Callers who own nothing: of another organisation, of none, of organisations whose ids might be taken for patterns,
/// and some whose claims only look like the role.
pub(crate) fn strangers() -> Vec<User> {
    let mut strangers = vec![User::of("stranger"), User::individual("nobody")];
    strangers.extend(["*", "%", "GRAIN", "FARM"].map(User::of));
    for roles in [serde_json::json!("admin"), serde_json::json!(["Admin", "administrator", ""])] {
        let mut user = User::of("stranger");
        user.claims["roles"] = roles;
        strangers.push(user);
    }
    strangers
}
