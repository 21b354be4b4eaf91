//! Uploads, compared with durable files, and downloads, compared with nginx and the same stored file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::market;
use testkit::market::random::{Random, SEED};
use testkit::processes::http::{Body, Form};
use testkit::processes::service::ServiceProcess;

use crate::baselines::{files, nginx};
use crate::benchmark::Benchmark;
use crate::environment::BenchEnvironment;
use crate::load::{self, CLIENTS};
use crate::report::Target;
use crate::wrk::Requests;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;
const ORG: &str = "org-0";

/// Uploads files of 64 KiB and 10 MiB.
pub fn upload(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.system()?, Random(SEED));
    let (bearer, content_type) = (format!("Bearer {}", service.token(Some(ORG))), Form::content_type());
    let headers = [("Authorization", bearer.as_str()), ("Content-Type", content_type.as_str())];
    for (size, bytes, max_cpu_us, clients) in
        [("64 KiB", 64 * KIB, 520.0, CLIENTS), ("10 MiB", 10 * MIB, 25_000.0, 2)]
    {
        let mut bodies = Vec::new();
        for _ in 0..3 {
            let file = env.temp_path("form");
            fs::write(&file, form(&mut random, bytes).encode())
                .with_context(|| format!("cannot write {}", file.display()))?;
            bodies.push(("/v1/files", Some(file)));
        }
        let requests = Requests::write(env.temp_path("requests"), &headers, "POST", bodies)?;
        Benchmark {
            name: format!("upload, {size}"),
            service,
            run: Box::new(|| load::send(env, service, &requests, clients)),
            baselines: vec![files::write(env, &service.data().join("baseline"), bytes)],
            target: Target::MaxCpu(max_cpu_us),
        }
        .measure(env)?;
    }
    Ok(())
}

/// Downloads a file of 64 KiB, a range of 64 KiB, and a file of 10 MiB.
pub fn download(env: &BenchEnvironment) -> Result<()> {
    let (service, mut random) = (env.system()?, Random(SEED));
    let token = service.token(Some(ORG));
    let bearer = format!("Bearer {token}");
    let mut stored = |bytes| {
        let body = Body::Form(form(&mut random, bytes));
        let response = service.send("POST", "/v1/files", &token, &body)?;
        let id = response.json["id"].as_str().context("the upload returned no id")?;
        anyhow::Ok((format!("/v1/files/{id}"), stored_file(service, bytes)?))
    };
    // No upload has these sizes.
    let (small, large) = (stored(64 * KIB + 1)?, stored(10 * MIB + 1)?);
    for (size, (path, file), range, ratio) in [
        ("64 KiB", &small, None, 0.7),
        ("64 KiB of 10 MiB", &large, Some("bytes=1048576-1114111"), 0.7),
        ("10 MiB", &large, None, 0.8),
    ] {
        let mut headers = vec![("Authorization", bearer.as_str())];
        headers.extend(range.map(|range| ("Range", range)));
        let requests = Requests::write(env.temp_path("requests"), &headers, "GET", [(path.as_str(), None)])?;
        Benchmark {
            name: format!("download, {size}"),
            service,
            run: Box::new(|| load::send(env, service, &requests, CLIENTS)),
            baselines: nginx::download(env, file, &headers, CLIENTS)?.into_iter().collect(),
            target: Target::MinRateRatio(ratio),
        }
        .measure(env)?;
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

/// Returns the file of `bytes` bytes in the store of the service.
fn stored_file(service: &ServiceProcess, bytes: usize) -> Result<PathBuf> {
    find_by_size(&service.data().join("files"), bytes as u64)
        .with_context(|| format!("the store has no file of {bytes} bytes"))
}

fn find_by_size(folder: &Path, bytes: u64) -> Option<PathBuf> {
    fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let (path, metadata) = (entry.path(), entry.metadata().ok()?);
        if metadata.is_dir() {
            find_by_size(&path, bytes)
        } else {
            (metadata.is_file() && metadata.len() == bytes).then_some(path)
        }
    })
}
