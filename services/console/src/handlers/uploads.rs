//! Files of forms, which are passed on to the system service while they arrive.

use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpRequest, dev};
use common::multipart::{self, FilePart, Limits, MAX_TEXT_BYTES, Payload};
use futures_util::future::join;
use futures_util::stream;
use reqwest::Body;
use reqwest::multipart::{Form, Part};
use tokio::sync::mpsc;

use crate::Console;
use crate::api::{CallError, Service};
use crate::fields::{FORM_TOKEN, Fields};
use crate::loads::{FILE_ERROR, FILES, TEXTS};
use crate::market;
use crate::user::{Failure, User};
use crate::views::messages::sentence;

/// The most files of a form.
const MAX_FILES: usize = 10;
/// The most bytes of a file. The system service has a limit of its own.
const MAX_FILE_BYTES: usize = 100 << 20;
/// Chunks of a file that wait for the system service.
const CHUNKS: usize = 4;
/// Addresses of forms that store files and do nothing else. The idempotency key of another form is that of its record:
/// if the form is refused, it comes back with the same key and perhaps other files.
const FOR_FILES: [&str; 3] = ["/files/upload", "/market/pictures", "/driver/files"];

/// Reads a form with files, and stores the files for the person. Without a person, an error at the field asks to choose
/// them again.
pub(super) async fn receive(
    console: &Console,
    request: &HttpRequest,
    payload: &mut dev::Payload,
    user: Option<&User>,
) -> Result<Fields, Failure> {
    let payload = Payload::from_request(request, payload).await.map_err(|_| Failure::UnreadableForm)?;
    let purpose = Purpose::of(request.path());
    let texts = purpose.texts();
    let limits =
        Limits { texts: &texts, text_bytes: MAX_TEXT_BYTES, files: MAX_FILES, file_bytes: MAX_FILE_BYTES };
    let is_for_files = FOR_FILES.contains(&request.path());
    let mut index = 0;
    let received = multipart::receive(request, payload, limits, async |mut part| {
        let text = |name: &str| part.texts.iter().find(|(own, _)| own == name).map_or("", |(_, text)| text);
        let user = user.filter(|user| user.is_form_token(&console.sessions.keys, text(FORM_TOKEN)));
        let key = text("key");
        let key = (is_for_files && !key.is_empty()).then(|| format!("{key}-{index}"));
        index += 1;
        let stored = match user {
            Some(user) if part.name.as_ref().is_some_and(|name| !name.is_empty()) => {
                Some(store(console, user, &mut part, purpose, key.as_deref()).await?)
            }
            // Browsers send an empty part if no file was chosen.
            _ => {
                let is_chosen = part.name.as_ref().is_some_and(|name| !name.is_empty());
                while part.next().await?.is_some() {}
                is_chosen.then_some(Err(CallError::LoggedOut))
            }
        };
        Ok(stored)
    });
    let form = received.await.map_err(|error| {
        tracing::debug!(%error, "a form with files is refused");
        Failure::UnreadableForm
    })?;
    let mut fields = form.texts;
    // The script of a phone sends a photograph again by itself, if it knows why it was not stored.
    let is_for_script = request.path() == "/driver/files";
    let token = fields.iter().find(|(name, _)| name == FORM_TOKEN).map_or("", |(_, token)| token);
    let is_own = user.is_some_and(|user| user.is_form_token(&console.sessions.keys, token));
    let mut is_away = false;
    for stored in form.files.into_iter().flatten() {
        fields.push(match stored {
            Ok(file) => (FILES.to_owned(), file),
            Err(error) if is_for_script && is_own && is_temporary(&error) => return Err(error.into()),
            Err(CallError::Refused(refusal)) => {
                let error =
                    refusal.validation.first().map_or_else(|| sentence(&refusal), |e| e.message.clone());
                (FILE_ERROR.to_owned(), error)
            }
            Err(CallError::LoggedOut) => {
                let error = "was not kept, because nobody was logged in: choose it again";
                (FILE_ERROR.to_owned(), error.to_owned())
            }
            Err(CallError::Away { .. }) => {
                is_away = true;
                (FILE_ERROR.to_owned(), "was not stored: choose it again".to_owned())
            }
        });
    }
    let fields = Fields(fields);
    if is_away {
        return Err(Failure::AwayForm { action: request.path().to_owned(), fields });
    }
    Ok(fields)
}

/// Returns true for what passes by itself, or with a new log-in.
fn is_temporary(error: &CallError) -> bool {
    match error {
        CallError::Away { .. } | CallError::LoggedOut => true,
        CallError::Refused(refusal) => matches!(refusal.status, 408 | 429),
    }
}

/// What the files of a form are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    Load,
    /// Everybody sees the pictures of a listing.
    Listing,
    /// The organisation keeps it.
    Own,
}

impl Purpose {
    fn of(path: &str) -> Self {
        match path.split('/').nth(1) {
            Some("market") => Self::Listing,
            Some("files") => Self::Own,
            _ => Self::Load,
        }
    }

    /// Returns the text fields that the form may have.
    fn texts(self) -> Vec<&'static str> {
        match self {
            Self::Load => TEXTS.into(),
            Self::Listing => market::texts(),
            Self::Own => vec![FORM_TOKEN, "key"],
        }
    }

    /// Returns the type of a file.
    fn file_type(self, is_image: bool) -> &'static str {
        match self {
            Self::Load => "weighbridge",
            Self::Listing if is_image => "image",
            Self::Listing | Self::Own => "misc",
        }
    }
}

/// Sends a file to the system service. Returns its id and its name.
async fn store(
    console: &Console,
    user: &User,
    part: &mut FilePart<'_>,
    purpose: Purpose,
    key: Option<&str>,
) -> Result<Result<String, CallError>, common::Error> {
    let name = part.name.clone().unwrap_or_default();
    let declared = part.declared.clone().unwrap_or_else(|| "application/octet-stream".to_owned());
    let is_image = declared.starts_with("image/");
    let bucket = if is_image { "images" } else { "files" };
    let (sender, receiver) = mpsc::channel::<Result<Bytes, std::io::Error>>(CHUNKS);
    let chunks = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
    let content = Part::stream(Body::wrap_stream(Box::pin(chunks))).file_name(name.clone());
    let content = content.mime_str(&declared);
    let content = content.map_err(|error| common::Error::malformed_body(error.to_string()))?;
    let form = Form::new()
        .text("bucket", bucket)
        .text("type", purpose.file_type(is_image))
        .text("name", name.clone());
    let pass_on = async {
        // To the end of the part, even if the service has refused it: further fields follow.
        while let Some(chunk) = part.next().await? {
            let _ = sender.send(Ok(chunk)).await;
        }
        drop(sender);
        Ok::<_, common::Error>(())
    };
    let caller = user.caller(&console.api);
    let upload = caller.upload(Service::System, form.part("file", content), key);
    let (passed, stored) = join(pass_on, upload).await;
    passed?;
    Ok(stored.map(|id| format!("{id} {name}")))
}
