//! Resolving: what the other services ask about the files that a load or a listing names, all in one call.

use common::problem::{Code, Problems};
use common::wire::Name;
use common::{Answer, Error};
use database::Id;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, Schema, SchemaType, Type};
use utoipa::{PartialSchema, ToSchema};

use super::answer::FileInfo;
use super::model::File;

/// Which files, and whom they are for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ResolveFiles {
    /// Ids of files; what is no UUID is left out.
    #[schema(required = true, min_items = 1, max_items = 50)]
    ids: Vec<String>,
    /// With whom those of the files that are the caller's are shared.
    share_with: Option<ShareWith>,
    /// `true`: nothing is shared unless all ids are found.
    all_or_nothing: bool,
}

/// Ids of organisations, `*` being everybody; or `*` alone.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum ShareWith {
    Organisations(Vec<Name>),
    Everybody(String),
}

impl PartialSchema for ShareWith {
    fn schema() -> RefOr<Schema> {
        let types = SchemaType::from_iter([Type::Array, Type::String]);
        let description = "Ids of organisations, `*` being everybody; or `*` alone.";
        let names = ArrayBuilder::new().schema_type(types).items(Name::schema()).max_items(Some(50));
        names.description(Some(description)).into()
    }
}
impl ToSchema for ShareWith {}

impl ResolveFiles {
    /// What no schema can state.
    pub(super) fn rules(&self, problems: &mut Problems) {
        if matches!(&self.share_with, Some(ShareWith::Everybody(star)) if star != "*") {
            let allowed = json!({ "allowed": ["*"] });
            problems.push_with("shareWith", Code::Enum, "must be an array of organisations, or *", allowed);
        }
    }

    /// The ids, each once, and how to share them.
    pub(super) fn into_parts(self) -> (Vec<Id>, Sharing) {
        let mut ids = Vec::with_capacity(self.ids.len());
        let mut nameless = false;
        for id in &self.ids {
            match Id::parse(id) {
                Some(id) if !ids.contains(&id) => ids.push(id),
                Some(_) => {}
                None => nameless = true,
            }
        }
        let with = match self.share_with {
            // An id that is none is never found.
            _ if self.all_or_nothing && nameless => Vec::new(),
            Some(ShareWith::Organisations(names)) => {
                names.into_iter().map(|name| name.0.trim().to_owned()).collect()
            }
            Some(ShareWith::Everybody(star)) => vec![star],
            None => Vec::new(),
        };
        (ids, Sharing { with, all_or_nothing: self.all_or_nothing })
    }
}

/// How files are shared.
pub(super) struct Sharing {
    /// Ids of organisations, `*` being everybody.
    pub with: Vec<String>,
    /// Not unless all of them are found.
    pub all_or_nothing: bool,
}

/// The answer: the files found, and in a header what is missing of those that were asked for.
pub(super) fn resolved(ids: &[Id], files: &[File], public_url: &str) -> Result<Answer, Error> {
    let infos: Vec<_> = files.iter().map(|file| FileInfo::resolved(file, public_url)).collect();
    let answer = Answer::json(&infos)?;
    let missing = ids.iter().filter(|id| !files.iter().any(|file| file.id == **id));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    Ok(if missing.is_empty() { answer } else { answer.header("X-Missing-Ids", missing.join(",")) })
}
