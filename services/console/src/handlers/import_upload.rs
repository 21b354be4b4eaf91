//! Sheets of the import, which are passed on to logistics while they arrive. Nothing of them is kept.

use std::io;

use actix_web::rt::task::JoinHandle;
use actix_web::web::Bytes;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use common::multipart::{self, FilePart, Limits, Payload};
use futures_util::stream;
use reqwest::{Body, Response};
use tokio::sync::mpsc;
use uuid::Uuid;

use super::extract::{check_origin, find_sender};
use crate::Console;
use crate::api::batch::StoredBatch;
use crate::api::{CallError, Service};
use crate::fields::{FORM_TOKEN, Fields};
use crate::import::{Content, Draft, Purpose, TEXTS};
use crate::user::{Failure, User};

/// The most files of an import, and the most bytes of one. Logistics has limits of its own.
const MAX_FILES: usize = 10;
const MAX_FILE_BYTES: usize = 100 << 20;
/// The most bytes of a text: pasted rows, or a thousand corrections.
const MAX_TEXT_BYTES: usize = 1 << 20;
/// Chunks that wait for logistics.
const CHUNKS: usize = 4;
/// The imports of an organisation among which a page looks for one that takes longer.
const NEWEST: &str = "20";
/// The name of a file of pasted rows.
const PASTED: &str = "pasted rows.csv";

/// A form of the import.
pub(super) struct Received {
    pub(super) user: User,
    pub(super) fields: Fields,
    /// What was decided about this content.
    pub(super) draft: Draft,
    /// The names of the files.
    pub(super) names: Vec<String>,
    /// The newest imports of the person before this one, if it stores loads and if they could be read.
    pub(super) known: Option<Vec<String>>,
    /// The answer of logistics, as soon as it comes. Otherwise, what is wrong with the form.
    pub(super) answer: Result<Answer, &'static str>,
}

/// What is wrong with a form without files and rows, and with both.
const NOTHING: &str = "Choose a file, or paste rows with their headings.";
const BOTH: &str =
    "Choose a file or paste rows, not both: nothing was read. Empty one of the two and check again.";

/// The response to a batch, which comes also if the browser is gone.
pub(super) type Answer = JoinHandle<Result<Response, CallError>>;

/// Reads a form with sheets and passes it on. `has_key`: with the idempotency key of the form, which a check would use
/// up.
///
/// # Errors
/// If the form is of another site or made for somebody else, if nobody is logged in, or if it cannot be read.
pub(super) async fn receive(
    console: &Console,
    request: &HttpRequest,
    payload: Payload,
    (has_key, purpose): (bool, impl FnOnce(&Draft) -> Purpose),
) -> Result<Received, Failure> {
    check_origin(console, request.headers())?;
    let (user, retry) = find_sender(request).await?;
    if !request.content_type().eq_ignore_ascii_case("multipart/form-data") {
        // A form that was kept while nobody was logged in has no files any more.
        let fields = Bytes::from_request(request, &mut payload.into_inner()).await;
        let fields = Fields::parse(&fields.map_err(|_| Failure::UnreadableForm)?);
        if let Some(retry) = retry {
            return Err(retry);
        }
        let content = Content::default();
        return pass_on(console, request, (user, fields, Vec::new()), (None, content), (has_key, purpose))
            .await;
    }
    let limits =
        Limits { texts: &TEXTS, text_bytes: MAX_TEXT_BYTES, files: MAX_FILES, file_bytes: MAX_FILE_BYTES };
    let mut upstream: Option<Upstream> = None;
    let mut content = Content::default();
    let mut names = Vec::new();
    let received = multipart::receive(request, payload, limits, async |mut part| {
        let name = part.name.as_deref().unwrap_or_default().replace(char::is_control, "");
        let fields = Fields(part.texts.to_vec());
        let owner = user.as_ref().filter(|user| is_owner(console, user, &fields));
        // Browsers send an empty part if no file was chosen.
        let (Some(user), false) = (owner, name.is_empty()) else { return drain(&mut part).await };
        let upstream = upstream.get_or_insert_with(|| Upstream::start(console, user, &fields, has_key));
        upstream.begin_file(&name).await;
        names.push(name);
        // To the end of the part, even if logistics has refused it: further fields follow.
        while let Some(chunk) = part.next().await? {
            content.add(&chunk);
            upstream.send(chunk).await;
        }
        content.end_file();
        upstream.send("\r\n").await;
        Ok(())
    });
    let form = received.await.map_err(|error| {
        tracing::debug!(%error, "a sheet is refused");
        Failure::UnreadableForm
    })?;
    if let Some(retry) = retry {
        return Err(retry);
    }
    pass_on(console, request, (user, Fields(form.texts), names), (upstream, content), (has_key, purpose))
        .await
}

/// Passes pasted rows and the other fields on.
async fn pass_on(
    console: &Console,
    request: &HttpRequest,
    (user, fields, mut names): (Option<User>, Fields, Vec<String>),
    (mut upstream, mut content): (Option<Upstream>, Content),
    (has_key, purpose): (bool, impl FnOnce(&Draft) -> Purpose),
) -> Result<Received, Failure> {
    let Some(user) = user else {
        return Err(Failure::LoggedOutForm { action: request.path().to_owned(), fields });
    };
    // Without its end, logistics refuses what it has got.
    if !is_owner(console, &user, &fields) {
        return Err(Failure::ForeignForm);
    }
    let pasted = fields.find("pasted").filter(|pasted| !pasted.trim().is_empty()).map(str::to_owned);
    if pasted.is_some() && upstream.is_some() {
        let draft = Draft::of(&fields);
        return Ok(Received { user, fields, draft, names, known: None, answer: Err(BOTH) });
    }
    if let Some(pasted) = pasted {
        content.add_pasted(&pasted);
        let upstream = upstream.get_or_insert_with(|| Upstream::start(console, &user, &fields, has_key));
        upstream.begin_file(PASTED).await;
        upstream.send(pasted).await;
        upstream.send("\r\n").await;
        names.push(PASTED.to_owned());
    }
    let Some(upstream) = upstream else {
        let draft = Draft::of(&fields);
        return Ok(Received { user, fields, draft, names, known: None, answer: Err(NOTHING) });
    };
    let draft = Draft::of_upload(&fields, content.finish());
    let purpose = purpose(&draft);
    // Logistics stores nothing before the end of the form, so this import is not among them.
    let known = if purpose.stores() { newest_imports(&user, console).await.ok() } else { None };
    let known = known.map(|known| known.into_iter().map(|batch| batch.id).collect());
    let own = user.person.organisation_id.as_deref();
    let answer = Ok(upstream.finish(draft.api_fields(purpose, own)).await);
    Ok(Received { user, fields, draft, names, known, answer })
}

fn is_owner(console: &Console, user: &User, fields: &Fields) -> bool {
    user.is_form_token(&console.sessions.keys, fields.get(FORM_TOKEN))
}

async fn drain(part: &mut FilePart<'_>) -> Result<(), common::Error> {
    while part.next().await?.is_some() {}
    Ok(())
}

/// A form on its way to logistics.
struct Upstream {
    boundary: String,
    sender: mpsc::Sender<io::Result<Bytes>>,
    answer: Answer,
}

impl Upstream {
    /// Begins the request, perhaps with the idempotency key of the form.
    fn start(console: &Console, user: &User, fields: &Fields, has_key: bool) -> Self {
        let boundary = Uuid::now_v7().simple().to_string();
        let (sender, receiver) = mpsc::channel(CHUNKS);
        let chunks = stream::unfold(receiver, async |mut receiver| Some((receiver.recv().await?, receiver)));
        let body = Body::wrap_stream(Box::pin(chunks));
        let media_type = format!("multipart/form-data; boundary={boundary}");
        let key = fields.get("key");
        let key = Some(key).filter(|key| has_key && key.parse::<Uuid>().is_ok());
        let sending = user.caller(&console.api).send_batch(&media_type, body, key);
        Self { boundary, sender, answer: actix_web::rt::spawn(sending) }
    }

    /// Sends a part of the body. If logistics has answered already, the answer says why.
    async fn send(&self, bytes: impl Into<Bytes>) {
        let _ = self.sender.send(Ok(bytes.into())).await;
    }

    async fn begin_file(&self, name: &str) {
        let name = name.replace('"', "%22");
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n",
            self.boundary
        );
        self.send(head).await;
    }

    /// Sends the text fields and the end.
    async fn finish(self, fields: Vec<(&'static str, String)>) -> Answer {
        let boundary = &self.boundary;
        for (name, value) in fields {
            let part =
                format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            self.send(part).await;
        }
        self.send(format!("--{boundary}--\r\n")).await;
        self.answer
    }
}

/// Returns the ids and the files of the newest imports of the person.
pub(super) async fn newest_imports(user: &User, console: &Console) -> Result<Vec<StoredBatch>, CallError> {
    let caller = user.caller(&console.api);
    let newest =
        caller.get::<Vec<StoredBatch>>(Service::Logistics, "/v1/loads/batches", &[("limit", NEWEST)]);
    let mut newest = newest.await?.value;
    newest.retain(|batch| batch.user_id == user.person.id);
    Ok(newest)
}
