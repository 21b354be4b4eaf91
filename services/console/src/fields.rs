//! The fields of forms: how they are described, and what they are sent with.

/// The field that proves for whom a form was made.
pub(crate) const FORM_TOKEN: &str = "form-token";

/// A field of a form, as it is described. Its name is the path of the member in the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Field<K> {
    pub(crate) name: &'static str,
    pub(crate) label: &'static str,
    pub(crate) kind: K,
    pub(crate) is_required: bool,
}

/// Describes a field that may stay empty.
pub(crate) const fn field<K: Copy>(name: &'static str, label: &'static str, kind: K) -> Field<K> {
    Field { name, label, kind, is_required: false }
}

/// Describes a field that is needed.
pub(crate) const fn required<K: Copy>(name: &'static str, label: &'static str, kind: K) -> Field<K> {
    Field { name, label, kind, is_required: true }
}

/// The fields that a form or an address has, in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(pub(crate) Vec<(String, String)>);

impl Fields {
    /// Reads a body of `application/x-www-form-urlencoded`.
    pub(crate) fn parse(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    /// Returns the fields as such a body.
    pub(crate) fn encoded(&self) -> String {
        url::form_urlencoded::Serializer::new(String::new()).extend_pairs(&self.0).finish()
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

    /// Returns those of these fields that are not empty, each under the name of its parameter in the API.
    pub(crate) fn parameters<'a>(&'a self, names: &[(&str, &'a str)]) -> Vec<(&'a str, &'a str)> {
        let given = names.iter().map(|(name, parameter)| (*parameter, self.get(name)));
        given.filter(|(_, value)| !value.is_empty()).collect()
    }

    /// Returns these fields, with those for which `is_theirs` returns true taken from `others`.
    pub(crate) fn merged(&self, others: &Self, is_theirs: impl Fn(&str) -> bool) -> Self {
        let mine = self.0.iter().filter(|(name, _)| !is_theirs(name));
        let theirs = others.0.iter().filter(|(name, _)| is_theirs(name));
        Self(mine.chain(theirs).cloned().collect())
    }
}
