//! The response of the resolve operation (`docs/api/files.md`, "Resolve and share").

use common::{Caller, Error, JsonResponse};
use database::Id;

use super::file::FileInfo;
use crate::files::limits::{LargeResponses, LimitedResponse, Permit};
use crate::files::model::{File, MAX_ORGANISATIONS};

/// A response with at most this many files is not large. Ids that were stored before ids were normalized are an
/// exception (see [`resolved`]).
const MAX_SMALL_FILES: usize = 6;
/// Bytes of the members of a file that have about the same length in every file, rounded up.
const FIXED_FILE_BYTES: usize = 1024;

/// What a caller sees of files.
pub(in crate::files) struct FileView {
    /// Who reads the files.
    pub caller: Caller,
    /// Leaves `organisations` empty.
    pub brief: bool,
    /// The beginning of the files' URLs.
    pub public_url: String,
}

impl FileView {
    /// Returns true if the response with these files may be large. A brief response is not: 50 files without
    /// organisations have less than half a MB. Neither is a response with few files.
    pub(in crate::files) fn may_be_large(&self, ids: &[Id]) -> bool {
        !self.brief && ids.len() > MAX_SMALL_FILES
    }

    /// Returns the information on files, as the caller sees them. A large response needs a permit: `held`, or else a
    /// free one.
    ///
    /// # Errors
    /// 503 if the response is large and no permit is free.
    pub(in crate::files) fn infos(
        &self,
        files: Vec<File>,
        large: &LargeResponses,
        held: Option<&Permit>,
    ) -> Result<(Vec<FileInfo>, Option<Permit>), Error> {
        let files: Vec<_> = files.into_iter().map(|file| self.apply(file)).collect();
        let permit = large.try_permit(&self.caller.tenant(), files.iter().map(json_size).sum(), held)?;
        let infos = files.into_iter().map(|file| FileInfo::resolved(file, &self.public_url)).collect();
        Ok((infos, permit))
    }

    fn apply(&self, file: File) -> File {
        let mut file = file.seen_by(&self.caller);
        file.organisations.0.truncate(if self.brief { 0 } else { MAX_ORGANISATIONS });
        file
    }
}

/// Returns the bytes of the file in a response, rounded up.
fn json_size(file: &File) -> usize {
    // Texts have no control characters, so JSON escapes only quotes and backslashes.
    let quoted = |text: &String| {
        text.len() + text.bytes().filter(|byte| matches!(byte, b'"' | b'\\')).count() + "\"\",".len()
    };
    let texts = [&file.name, &file.user_id, &file.user_name].into_iter().chain(&file.organisation_id);
    FIXED_FILE_BYTES + texts.chain(&file.organisations.0).map(quoted).sum::<usize>()
}

/// Builds the response: the files, as the caller sees them, and the header `X-Missing-Ids`. A large response needs a
/// permit: `held`, or else a free one.
///
/// A response has at most 50 files with [`MAX_ORGANISATIONS`] ids each. An id has at most 200 characters, which take at
/// most 800 bytes (4 of UTF-8 each, or 2 of a JSON escape), and 3 bytes for quotes and comma: 8.03 MB in all. The other
/// members add less than 10 KB a file.
///
/// # Errors
/// 503 if the response is large and no permit is free.
pub(in crate::files) fn resolved(
    ids: &[Id],
    files: Vec<File>,
    view: &FileView,
    large: &LargeResponses,
    held: Option<&Permit>,
) -> Result<LimitedResponse, Error> {
    let missing = ids.iter().filter(|id| !files.iter().any(|file| file.id == **id));
    let missing: Vec<_> = missing.map(ToString::to_string).collect();
    let (infos, permit) = view.infos(files, large, held)?;
    let mut response = JsonResponse::json(&infos)?;
    if !missing.is_empty() {
        response = response.header("X-Missing-Ids", missing.join(","));
    }
    Ok(LimitedResponse { response, permit })
}
