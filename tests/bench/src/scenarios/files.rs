//! Uploads, and downloads, which are compared with nginx and the same stored file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::environment::{BenchEnvironment, CLIENTS};
use crate::limits;
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::CPU;
use crate::wrk::Requests;
use testkit::market;
use testkit::market::random::{Random, SEED};
use testkit::processes::http::{Body, Form};

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ORG: &str = "org-0";

/// Uploads files of 64 KiB and 10 MiB.
pub fn upload(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random, content_type) = (env.service("system")?, Random(SEED), Form::content_type());
    let (token, headers) = (service.token(Some(ORG)), [("Content-Type", content_type.as_str())]);
    for (size, bytes, clients, max_cpu) in
        [("64 KiB", 64 * KIB, CLIENTS, 520.0), ("10 MiB", 10 * MIB, 2, 25_000.0)]
    {
        let mut bodies = Vec::new();
        for _ in 0..3 {
            let file = env.temp_path("form");
            fs::write(&file, form(&mut random, bytes).encode())?;
            bodies.push(("POST", "/v1/files", token.as_str(), format!("@{}", file.display())));
        }
        let requests = Requests::write(env.temp_path("requests"), &headers, bodies)?;
        let run = Box::new(|| env.load(service, &requests, clients));
        env.measure(&format!("upload, {size}"), service, run, Vec::new(), &[(CPU, AtMost(max_cpu))])?;
    }
    Ok(())
}

/// Downloads a file of 64 KiB, a range of 64 KiB, and a file of 10 MiB.
pub fn download(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.service("system")?, Random(SEED));
    let token = service.token(Some(ORG));
    let mut stored = |bytes: usize| {
        let body = Body::Form(form(&mut random, bytes));
        let response = service.send("POST", "/v1/files", &token, &body)?;
        let id = response.json["id"].as_str().context("the upload returned no id")?;
        let file = find_by_size(&service.data().join("files"), bytes as u64);
        anyhow::Ok((format!("/v1/files/{id}"), file.with_context(|| format!("no file of {bytes} bytes"))?))
    };
    // No upload has these sizes.
    let (small, large) = (stored(64 * KIB + 1)?, stored(10 * MIB + 1)?);
    for (size, (path, file), headers, percent) in [
        ("64 KiB", &small, &[][..], 70.0),
        ("64 KiB of 10 MiB", &large, &[("Range", "bytes=1048576-1114111")], 70.0),
        ("10 MiB", &large, &[], 80.0),
    ] {
        let requests = Requests::get(env.temp_path("requests"), &token, headers, std::slice::from_ref(path))?;
        let limit = limits::download(env, file, headers, CLIENTS)?;
        let run = Box::new(|| env.load(service, &requests, CLIENTS));
        let targets = [("% of requests/s of nginx", AtLeast(percent))];
        env.measure(&format!("download, {size}"), service, run, limit.into_iter().collect(), &targets)?;
    }
    Ok(())
}

/// Returns the form of a file that cannot be compressed.
fn form(random: &mut Random, bytes: usize) -> Form {
    #[expect(clippy::cast_possible_truncation, reason = "0..256")]
    let content: Vec<u8> = (0..bytes).map(|_| random.below(256) as u8).collect();
    Form {
        file_name: "bench.bin",
        media_type: "application/octet-stream",
        ..market::upload("bench.bin", content)
    }
}

fn find_by_size(folder: &Path, bytes: u64) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let (path, metadata) = (entry.path(), entry.metadata().ok()?);
        if metadata.is_dir() { find_by_size(&path, bytes) } else { (metadata.len() == bytes).then_some(path) }
    })
}
