//! A file, its owner, and the callers who may read, share and archive it. Requests, responses and the database use the
//! same words for its classifications.

use std::ops::Deref;

use common::Caller;
use common::wire::{END_OF_FOLDED, TextForm, fold};
use database::{Id, Json, Timestamp};
use diesel::prelude::*;
use images::MetadataFormat;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, ParseError, VariantNames};
use utoipa::ToSchema;

use crate::Settings;

/// The maximum number of organisations that a file is shared with. `*` counts as one.
pub(crate) const MAX_ORGANISATIONS: usize = 200;
/// The entry that means every organisation.
const EVERYBODY: &str = "*";

/// The bucket of a file. `images` takes images only.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Display,
    EnumString,
    VariantNames,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Bucket {
    /// JPEG, PNG, GIF, WebP, AVIF or HEIC.
    Images,
    /// Any content.
    #[default]
    Files,
}

/// What a file is used for.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Display,
    EnumString,
    VariantNames,
    Serialize,
    Deserialize,
    ToSchema,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum FileType {
    Sample,
    Avatar,
    Weighbridge,
    Contract,
    Image,
    Logo,
    #[default]
    Misc,
    Vehicle,
    TermsConditions,
    TradeContract,
}

impl FileType {
    /// Returns true if every caller may read files of this type (`docs/api/authentication.md`, "Permissions").
    pub(crate) fn is_open(self) -> bool {
        !matches!(self, Self::Weighbridge | Self::Contract | Self::TradeContract | Self::Misc)
    }
}

/// Parses a database column.
impl TryFrom<String> for Bucket {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// Parses a database column.
impl TryFrom<String> for FileType {
    type Error = ParseError;

    fn try_from(text: String) -> Result<Self, ParseError> {
        text.parse()
    }
}

/// The organisations that a file is shared with, without duplicates. `*` means everybody.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Organisations(pub Vec<String>);

impl Organisations {
    /// Adds organisations that are not in the list yet. Returns true if it added any.
    pub(crate) fn add(&mut self, others: &[String]) -> bool {
        let before = self.0.len();
        for other in others {
            if !self.0.contains(other) {
                self.0.push(other.clone());
            }
        }
        self.0.len() > before
    }

    /// Returns true if the list has `*`.
    pub(crate) fn includes_everybody(&self) -> bool {
        self.0.iter().any(|organisation| organisation == EVERYBODY)
    }

    /// Removes organisations. Compares each id as it is written, then normalized. Returns true if it removed any.
    pub(crate) fn remove(&mut self, others: &[String]) -> bool {
        let before = self.0.len();
        for other in others {
            let position = |id: &str| self.0.iter().position(|organisation| organisation == id);
            if let Some(index) = position(other).or_else(|| position(&TextForm::Id.normalize(other))) {
                self.0.remove(index);
            }
        }
        self.0.len() < before
    }
}

impl TryFrom<Json> for Organisations {
    type Error = serde_json::Error;
    fn try_from(json: Json) -> Result<Self, Self::Error> {
        json.parse()
    }
}

/// Returns the text that a query for files is compared with: folded, with a character at its end that keys of older
/// versions lack.
pub(crate) fn name_key(name: &str) -> String {
    let mut key = fold(name);
    key.push(END_OF_FOLDED);
    key
}

/// Returns the [tenant](Caller::tenant) of an organisation, or of a user without one.
pub(crate) fn tenant(organisation_id: Option<&str>, user_id: &str) -> String {
    match organisation_id {
        Some(id) => format!("organisation {id}"),
        None => format!("user {user_id}"),
    }
}

/// A row of the table `files`.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = crate::schema::files)]
pub(crate) struct File {
    /// UUIDv7.
    pub id: Id,
    /// `images` or `files`.
    #[diesel(deserialize_as = String)]
    pub bucket: Bucket,
    /// What the file is used for.
    #[diesel(deserialize_as = String)]
    pub kind: FileType,
    /// The owner. `None` if the uploader acted for no organisation.
    pub organisation_id: Option<String>,
    /// The file name without a path, 1 to 200 characters.
    pub name: String,
    /// SHA-256 of the content, 64 hexadecimal digits.
    pub hash: String,
    /// The media type.
    pub content_type: String,
    /// Size of the content in bytes, at least 1.
    pub size: i64,
    /// The id of the user who uploaded the file.
    pub user_id: String,
    /// The name of the user who uploaded the file.
    pub user_name: String,
    /// The organisations that the file is shared with.
    #[diesel(deserialize_as = Json)]
    pub organisations: Organisations,
    /// When the file was uploaded.
    pub created_at: Timestamp,
    /// When the file was archived.
    pub archived_at: Option<Timestamp>,
}

impl File {
    /// Returns true if the caller may share and archive the file: its organisation, and `admin`.
    ///
    /// The uploader's rights apply only while acting for the organisation that the file was uploaded for
    /// (`docs/api/authentication.md`, "Permissions"). So the uploader needs a check only for a file without an
    /// organisation, which belongs to its uploader while acting for no organisation.
    pub(crate) fn is_own_of(&self, caller: &Caller) -> bool {
        let is_owner = match (&self.organisation_id, &caller.organisation) {
            (Some(owner), Some(organisation)) => *owner == organisation.id,
            (None, None) => self.user_id == caller.user_id,
            _ => false,
        };
        caller.admin || is_owner
    }

    /// Returns true if every caller may download the file.
    pub(crate) fn is_public(&self) -> bool {
        self.kind.is_open() || self.organisations.includes_everybody()
    }

    /// Returns true if the content is an image of a format whose personal metadata is known.
    pub(crate) fn is_known_image(&self) -> bool {
        MetadataFormat::of(&self.content_type).is_some()
    }

    /// Returns the [tenant](Caller::tenant) of the file's owner.
    pub(crate) fn tenant(&self) -> String {
        tenant(self.organisation_id.as_deref(), &self.user_id)
    }

    /// Returns the [tenants](Caller::tenant) that may read the file: its owner, and those with which it is shared.
    pub(crate) fn readers(&self) -> impl Iterator<Item = String> {
        let shared = self.organisations.0.iter().map(|id| format!("organisation {id}"));
        std::iter::once(self.tenant()).chain(shared)
    }

    /// Returns true if the caller may download the file and read its information.
    pub(crate) fn is_readable_by(&self, caller: &Caller) -> bool {
        self.kind.is_open() || self.is_own_of(caller) || self.organisations.0.iter().any(includes(caller))
    }

    /// Returns the file as the caller sees it. A caller who may share the file sees all organisations. A file from
    /// before the limit may have more than [`MAX_ORGANISATIONS`]. Other callers see their own organisation and `*`.
    #[must_use]
    pub(crate) fn seen_by(mut self, caller: &Caller) -> Self {
        if !self.is_own_of(caller) {
            self.organisations.0.retain(includes(caller));
        }
        self
    }
}

/// Returns a predicate for the entries of a file's organisations that include the caller.
fn includes(caller: &Caller) -> impl Fn(&String) -> bool {
    |organisation| organisation == EVERYBODY || caller.acts_for(organisation)
}

/// The files of one upload.
#[derive(Debug)]
pub(crate) struct Upload {
    /// The file of the first part.
    pub first: File,
    /// The files of the other parts, in the order of the parts.
    pub additional: Vec<File>,
}

impl Upload {
    /// Returns all files, to change them before they are stored.
    pub(crate) fn files_mut(&mut self) -> impl Iterator<Item = &mut File> {
        std::iter::once(&mut self.first).chain(&mut self.additional)
    }

    /// Returns the bytes of all contents.
    pub(crate) fn bytes(&self) -> i64 {
        self.files().map(|file| file.size).sum()
    }

    /// Returns the number of files.
    pub(crate) fn count(&self) -> i64 {
        i64::try_from(self.files().count()).unwrap_or(i64::MAX)
    }

    /// Returns all files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &File> {
        std::iter::once(&self.first).chain(&self.additional)
    }
}

/// The owner of files: an organisation, or a user whose files have none.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) organisation_id: Option<String>,
    pub(crate) user_id: String,
}

impl Owner {
    /// Returns the owner of the files that a caller uploads without naming another one.
    pub(crate) fn of_caller(caller: &Caller) -> Self {
        let organisation_id = caller.organisation.as_ref().map(|organisation| organisation.id.clone());
        Self { organisation_id, user_id: caller.user_id.clone() }
    }

    /// Returns the owner of a file.
    pub(crate) fn of(file: &File) -> Self {
        Self { organisation_id: file.organisation_id.clone(), user_id: file.user_id.clone() }
    }

    /// Returns the most bytes of the owner's files.
    pub(crate) fn max_bytes(&self, settings: &Settings) -> i64 {
        let bytes = match self.organisation_id {
            Some(_) => settings.max_bytes_per_organisation,
            None => settings.max_bytes_per_user,
        };
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

/// Returns the ids among texts without duplicates, in their order.
pub(crate) fn distinct_ids(texts: &[impl Deref<Target = str>]) -> Vec<Id> {
    let mut ids = Vec::with_capacity(texts.len());
    for id in texts.iter().filter_map(|id| Id::parse(id)) {
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;
    use std::str::FromStr;

    use super::*;

    /// The database stores the word of strum, and JSON has the word of serde.
    fn assert_words_round_trip<T>()
    where
        T: Serialize + ToString + FromStr<Err: Debug> + PartialEq + Debug + VariantNames,
    {
        for word in T::VARIANTS {
            let value: T = word.parse().unwrap();
            assert_eq!(value.to_string(), *word);
            assert_eq!(serde_json::to_value(&value).unwrap(), *word);
        }
    }

    #[test]
    fn words_round_trip() {
        assert_words_round_trip::<Bucket>();
        assert_words_round_trip::<FileType>();
        assert_eq!(FileType::TermsConditions.to_string(), "terms-conditions");
        assert_eq!(Bucket::try_from("images".to_owned()), Ok(Bucket::Images));
        assert!(Bucket::try_from("Images".to_owned()).is_err());
    }

    #[test]
    fn add_ignores_duplicates() {
        let mut organisations = Organisations(vec!["a".into()]);
        assert!(organisations.add(&["b".into(), "a".into(), "b".into()]));
        assert_eq!(organisations.0, ["a", "b"]);
        assert!(!organisations.add(&["b".into()]));
    }

    #[test]
    fn remove_ignores_unknown_ids() {
        let mut organisations = Organisations(vec!["a".into(), "*".into(), "b".into()]);
        assert!(organisations.remove(&["b".into(), "c".into(), "a".into()]));
        assert_eq!(organisations.0, ["*"]);
        assert!(!organisations.remove(&["b".into()]));
    }

    #[test]
    fn each_id_is_returned_once() {
        let [a, b] = [Id::new(), Id::new()];
        let texts = [b.to_string(), "7".into(), a.to_string(), b.to_string().to_uppercase(), String::new()];
        assert_eq!(distinct_ids(&texts), [b, a]);
    }
}
