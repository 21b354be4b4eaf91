//! Results of a search.

/// The kind of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HitKind {
    /// A unit postcode.
    Postcode,
    /// A city, town or village.
    Place,
    /// A region or a postcode district. [`SearchOptions::within`](crate::SearchOptions::within) takes its id.
    Container,
}

/// A result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// `place:2647074`, `postcode:HR49AR`, `district:HR1`, `district:IE-H91` or `region:GB-HEF`.
    pub id: String,
    /// The kind of the hit.
    pub kind: HitKind,
    /// The name or code.
    pub text: String,
    /// The surrounding areas, smallest first: `Herefordshire, England, United Kingdom`.
    pub description: String,
}
