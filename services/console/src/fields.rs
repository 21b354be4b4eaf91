//! The fields that a form is sent with.

/// The field that proves for whom a form was made.
pub(crate) const FORM_TOKEN: &str = "form-token";

/// The fields of a form, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// Reads a body of `application/x-www-form-urlencoded`.
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns a field without white space around it, or an empty text.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default().trim()
    }

    /// Returns a field, if the form has it.
    pub(crate) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns all values of a field.
    pub(crate) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    }
}
