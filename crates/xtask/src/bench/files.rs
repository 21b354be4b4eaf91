//! Scenarios of system's files: uploads against a loop that does no more than is needed, downloads against nginx with
//! the very file that the service keeps.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::limits;
use super::report::Target;
use super::stage::{Row, Stage};
use super::wrk::Requests;
use crate::client::Body;
use crate::multipart::Form;
use crate::random::{Random, SEED};
use crate::service::Service;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const CLIENTS: usize = 4;

/// 64 KiB and 10 MiB.
pub fn upload(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.system()?, Random(SEED));
    let bearer = format!("Bearer {}", service.token(Some("org-0")));
    let (path, content_type) = ("/v1/files".to_owned(), Form::content_type());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", content_type.as_str())];
    for (name, bytes, most, clients) in
        [("64 KiB", 64 * KIB, 520.0, CLIENTS), ("10 MiB", 10 * MIB, 25_000.0, 2)]
    {
        let mut body = || {
            let file = stage.path("form");
            fs::write(&file, form(&mut random, bytes).encode()).map(|()| (&path, Some(file)))
        };
        let bodies = [body(), body(), body()].into_iter().collect::<Result<Vec<_>, _>>();
        let bodies = bodies.context("cannot write a form")?;
        let requests = Requests::write(stage.path("requests"), &headers, "POST", bodies.into_iter())?;
        stage.measure(Row {
            name: format!("upload, {name}"),
            service,
            run: Box::new(|| service.load(&requests, clients, stage.seconds)),
            limits: vec![limits::files(stage, service.data().join("limit"), bytes)],
            target: Target::Cpu(most),
        })?;
    }
    Ok(())
}

/// 64 KiB, 64 KiB of 10 MiB, 10 MiB.
pub fn download(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.system()?, Random(SEED));
    let token = service.token(Some("org-0"));
    let (small, large) = (64 * KIB + 1, 10 * MIB + 1); // no upload has these sizes
    let paths = [small, large].map(|bytes| {
        let file = form(&mut random, bytes);
        let answer = service.send("POST", "/v1/files", &token, &Body::Form(file))?;
        let id = answer.json["id"].as_str().context("an upload gave no id")?.to_owned();
        Ok::<_, anyhow::Error>((format!("/v1/files/{id}"), stored(service, bytes)?))
    });
    let [small, large] = paths;
    let (small, large, bearer) = (small?, large?, format!("Bearer {token}"));
    for (name, (path, stored), range, share) in [
        ("64 KiB", &small, "", 0.7),
        ("64 KiB of 10 MiB", &large, "bytes=1048576-1114111", 0.7),
        ("10 MiB", &large, "", 0.8),
    ] {
        let headers = [("Authorization", bearer.as_str()), ("Range", range)];
        let headers = if range.is_empty() { &headers[..1] } else { &headers };
        let one = [(path, None)].into_iter();
        let requests = Requests::write(stage.path("requests"), headers, "GET", one)?;
        stage.measure(Row {
            name: format!("download, {name}"),
            service,
            run: Box::new(|| service.load(&requests, CLIENTS, stage.seconds)),
            limits: limits::nginx(stage, stored, headers, CLIENTS)?.into_iter().collect(),
            target: Target::Share(share),
        })?;
    }
    Ok(())
}

/// A file that no compression makes smaller.
fn form(random: &mut Random, bytes: usize) -> Form {
    #[expect(clippy::cast_possible_truncation, reason = "any bits will do")]
    let content: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    let text = |name, value: &str| (name, value.to_owned());
    Form {
        fields: vec![text("bucket", "files"), text("type", "misc"), text("name", "bench.bin")],
        file_name: "bench.bin",
        media_type: "application/octet-stream",
        content: content.into(),
    }
}

/// The file in which the service keeps content of so many bytes.
fn stored(service: &Service, bytes: usize) -> Result<PathBuf> {
    let found = search(&service.data().join("files"), bytes as u64);
    found.with_context(|| format!("no stored file has {bytes} bytes"))
}

fn search(folder: &Path, bytes: u64) -> Option<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    let kept = |path: &Path| path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() == bytes);
    let mut paths = entries.iter().map(fs::DirEntry::path);
    paths.find_map(
        |path| if path.is_dir() { search(&path, bytes) } else { Some(path).filter(|path| kept(path)) },
    )
}
