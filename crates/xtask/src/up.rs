//! `up`: the three services on this machine, until Ctrl-C.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::cli::UpArgs;
use crate::data_lock::DataLock;
use crate::keys::DevKeys;
use crate::services::{Fleet, Place};
use crate::stop::Stop;
use crate::table;
use crate::token::Identity;
use crate::workspace::SERVICES;
use crate::{build_release, ports, walk};

/// Builds, starts, tells, waits, stops.
pub fn run(args: &UpArgs, stop: &Stop) -> Result<()> {
    let place = args.keep.place(data_folder(&args.data)?, args.port);
    let (mut fleet, keys) = launch(&place, None, stop)?;
    let mut serve = || {
        if args.demo {
            walk::run(&place, &keys, stop).or_else(|error| fleet.check().and(Err(error)))?;
        }
        print!("\n{}", introduction(&place, &keys));
        while !stop.requested() {
            fleet.check()?;
            sleep(Duration::from_millis(200));
        }
        Ok(())
    };
    let result = serve();
    finish(fleet, result, stop)
}

/// Locks the data folder, checks what can be checked, builds (unless the programs are there), makes keys, starts the
/// services and waits until they are ready.
pub fn launch(place: &Place, binaries: Option<&Path>, stop: &Stop) -> Result<(Fleet, DevKeys)> {
    let count = u16::try_from(SERVICES.len())?;
    // First: a second `up` over the folder reports the lock, not the port.
    let lock = DataLock::acquire(&place.data)?;
    ports::check_free(place.port, count)?;
    let keys = DevKeys::load_or_create(&place.data)?;
    let binaries = binaries.map_or_else(|| build_release::release(stop), |there| Ok(there.to_owned()))?;
    ports::check_free(place.port, count)?; // the build may have taken minutes
    println!("starting {} on ports {} to {}", SERVICES.join(", "), place.port, place.port + count - 1);
    let mut fleet = Fleet::start(place, &binaries, lock)?;
    fleet.wait_ready(stop)?;
    Ok((fleet, keys))
}

/// Stops the services; the first failure is the one that counts.
pub fn finish(mut fleet: Fleet, result: Result<()>, stop: &Stop) -> Result<()> {
    eprintln!("\nstopping the services");
    let stopped = fleet.stop(stop);
    result.and(stopped)
}

/// The data folder as an absolute path, made if missing and known to be writable.
pub fn data_folder(path: &Path) -> Result<PathBuf> {
    let data = std::path::absolute(path).context("--data is empty: name a folder")?;
    let shown = data.display().to_string();
    if shown.contains(['?', '#', '%']) {
        bail!(
            "folder {shown} has one of ? # % in its name, which URLs do not bear: choose another with --data"
        );
    }
    fs::create_dir_all(&data).and_then(|()| tempfile::tempfile_in(&data).map(drop)).with_context(|| {
        format!("cannot write to folder {shown}: make it writable or choose another with --data")
    })?;
    Ok(data)
}

/// What a person needs to know once everything runs.
fn introduction(place: &Place, keys: &DevKeys) -> String {
    let rows: Vec<[String; 4]> = (0..)
        .zip(SERVICES)
        .map(|(index, service)| {
            let url = place.url(index);
            let docs = format!("{url}/docs/");
            [service.to_owned(), url, docs, place.log(service).display().to_string()]
        })
        .collect();
    let ruth = Identity {
        user: "ruth",
        name: Some("Ruth"),
        org: Some("hereford-haulage"),
        org_name: Some("Hereford Haulage"),
        roles: &[],
    };
    let token = ruth.token(keys, Duration::from_secs(12 * 3600));
    format!(
        "{}\nTry it (the token is Ruth's of Hereford Haulage, good for 12 hours):\n\n  \
         curl -H 'Authorization: Bearer {token}' '{}/v1/loads?limit=5'\n\n\
         Another caller: cargo xtask token --data '{}' --user NAME --org ORGANISATION\n\
         Ctrl-C stops everything.\n",
        table::render(["service", "base URL", "documentation", "log"], &rows),
        place.url(1),
        place.data.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let message = format!("{:#}", data_folder(&file.join("data")).unwrap_err());
        assert!(message.contains("file/data") && message.contains("--data"), "{message}");
    }

    #[test]
    fn a_folder_in_use_is_refused_before_anything_else() {
        let folder = tempfile::tempdir().unwrap();
        let _held = DataLock::acquire(folder.path()).unwrap();
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let place = Place { data: folder.path().into(), port, ..Place::default() };
        let message = launch(&place, None, &Stop::default()).unwrap_err().to_string();
        assert!(message.contains("is in use by process"), "{message}");
    }

    #[test]
    fn the_introduction_has_a_line_to_copy() {
        let folder = tempfile::tempdir().unwrap();
        let keys = DevKeys::load_or_create(folder.path()).unwrap();
        let place = Place { data: folder.path().into(), port: 9000, ..Place::default() };
        let text = introduction(&place, &keys);
        assert!(text.contains("http://127.0.0.1:9002/docs/"), "{text}");
        assert!(text.contains("'http://127.0.0.1:9001/v1/loads?limit=5'"), "{text}");
    }
}
