//! Access rules of operations: who is refused (docs/api/authentication.md).

use reqwest::multipart::Form;
use serde_json::Value;

use crate::client::TestRequest;
use crate::{App, User};

/// The access rule of an operation.
pub enum AccessRule {
    /// Needs no token and ignores an invalid one.
    Public,
    /// Needs no token and ignores an invalid one. Refuses requests without a valid signature with 403.
    Signed,
    /// Allows every caller. The text says why no caller is refused.
    AnyCaller(&'static str),
    /// Refuses callers without the role `admin`, whatever the request.
    Admin,
    /// Refuses callers without an organisation, whatever the request.
    Member,
    /// Refuses strangers with 403 and changes nothing.
    Restricted(Vec<AccessCase>),
    /// Answers strangers with 200, without data of other organisations.
    Scoped(Vec<AccessCase>),
}

/// A request on existing resources, with the users who may and may not make it.
pub struct AccessCase {
    pub(crate) path: String,
    pub(crate) allowed: Vec<User>,
    pub(crate) denied: Vec<User>,
    /// What an administrator reads at this path is the same before and after a refusal.
    pub(crate) unchanged_path: Option<String>,
    /// Text that only responses to allowed users contain.
    pub(crate) disclosed: String,
    /// The allowed users remove the resource.
    pub(crate) removes: bool,
    body: Body,
}

enum Body {
    None,
    Json(Value),
    Form(fn() -> Form),
}

impl AccessCase {
    /// Creates a case for a path that these users may request. Users who own nothing are denied.
    pub fn new(path: impl Into<String>, allowed: &[&User]) -> Self {
        Self {
            path: path.into(),
            allowed: allowed.iter().copied().cloned().collect(),
            denied: strangers(),
            unchanged_path: None,
            disclosed: String::new(),
            removes: false,
            body: Body::None,
        }
    }

    /// Sets a JSON body.
    #[must_use]
    pub fn json(mut self, body: Value) -> Self {
        self.body = Body::Json(body);
        self
    }

    /// Sets a multipart form as the body.
    #[must_use]
    pub fn form(mut self, form: fn() -> Form) -> Self {
        self.body = Body::Form(form);
        self
    }

    /// Adds a user who is denied although the resource concerns them.
    #[must_use]
    pub fn denies(mut self, user: &User) -> Self {
        self.denied.push(user.clone());
        self
    }

    /// Requires that an administrator reads the same at this path before and after a refusal.
    #[must_use]
    pub fn leaves_unchanged(mut self, path: impl Into<String>) -> Self {
        self.unchanged_path = Some(path.into());
        self
    }

    /// States that the allowed users remove the resource: for denied users it is not there afterwards.
    #[must_use]
    pub fn removes(mut self) -> Self {
        self.removes = true;
        self
    }

    /// Requires that responses contain this text for allowed users only.
    #[must_use]
    pub fn discloses(mut self, text: impl Into<String>) -> Self {
        self.disclosed = text.into();
        self
    }

    pub(crate) fn request(&self, app: &App, method: &str) -> TestRequest {
        let request = app.call(method, &self.path);
        match &self.body {
            Body::None => request,
            Body::Json(body) => request.json(body),
            Body::Form(form) => request.form(form()),
        }
    }
}

/// Returns users who own nothing: of another organisation, of none, of organisations whose ids look like patterns or
/// differ from others in case only, and with claims that resemble the role `admin`.
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
