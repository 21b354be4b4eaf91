//! Files: has every record its whole content, and is every content that no record has the sweep's to take?

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use serde_json::json;

use super::books::{Books, File};
use super::findings::Findings;
use super::goods;
use super::line::{ADMIN, Line, ORGANISATIONS, OTHER, OWN, PATIENCE, SYSTEM, State};
use super::settle::{Known, settle};
use super::stage::Stage;

/// What the database and the folder of the store have.
#[derive(Debug)]
pub struct Store {
    /// By name the ids, as 32 hex digits, and hashes of records.
    records: HashMap<String, Vec<(String, String)>>,
    /// Names of contents that no record has.
    pub forgotten: usize,
}

/// Reads both; every content is hashed that was not known to be whole before.
pub fn read(stage: &Stage<'_>, whole: &mut BTreeSet<String>, found: &mut Findings) -> Result<Store> {
    let statement = format!("SELECT {} || ' ' || hash || ' ' || name FROM files", stage.hex("id"));
    let mut records = HashMap::<_, Vec<_>>::new();
    let mut hashes = BTreeSet::new();
    for row in stage.ask(SYSTEM, &statement)? {
        let [id, hash, name] =
            row.split(' ').map(str::to_owned).collect::<Vec<_>>().try_into().ok().context(row)?;
        hashes.insert(hash.clone());
        records.entry(name).or_default().push((id, hash));
    }
    let used = stage.ask(SYSTEM, "SELECT name FROM contents")?;
    let folder = stage.services[SYSTEM].data().join("files");
    let mut there = BTreeSet::new();
    for shard in names(&folder)?.iter().filter(|shard| shard.len() == 2) {
        for name in names(&folder.join(shard))? {
            if !whole.contains(&name) {
                let content = match fs::read(folder.join(shard).join(&name)) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue, // swept just now
                    content => content?,
                };
                let hash = goods::hash(&content);
                found.whole(name.starts_with(&hash), || format!("content {name} has another hash"));
                whole.insert(name.clone());
            }
            there.insert(name);
        }
    }
    for name in &used {
        hashes.remove(&name[..64.min(name.len())]);
        if !there.remove(name) {
            found.lost(&format!("content {name}, which a record has"));
        }
    }
    for hash in hashes {
        found.lost(&format!("the content of a record, {hash}"));
    }
    Ok(Store { records, forgotten: there.len() })
}

/// Ages what uploads that were cut off left behind, so that it is removed when system starts, and says how much that
/// is.
pub fn age_staged(stage: &Stage<'_>) -> Result<usize> {
    let folder = stage.staging();
    let staged = names(&folder)?;
    staged.iter().try_for_each(|name| age(&folder.join(name)))?;
    Ok(staged.len())
}

/// Waits until what was aged is gone.
pub fn wait_tidy(stage: &Stage<'_>, found: &mut Findings) -> Result<()> {
    let begun = Instant::now();
    while !names(&stage.staging())?.is_empty() {
        if begun.elapsed() > PATIENCE {
            found.half("uploads that were cut off stay");
            return Ok(());
        }
        stage.trial.pause(Duration::from_millis(5))?;
    }
    Ok(())
}

/// Makes a file an hour older than it may be.
fn age(path: &Path) -> Result<()> {
    let file = fs::File::options().append(true).open(path)?;
    Ok(file.set_modified(SystemTime::now() - Duration::from_secs(3600))?)
}

/// Compares records with everything that was ever uploaded.
pub fn compare(store: &Store, books: &Books, found: &mut Findings) {
    let mut known = 0;
    for file in &books.files {
        let there = store.of(file);
        known += there.len();
        found.times(&file.made.state, there.len(), &format!("file {}", file.name));
        for (id, hash) in there {
            found.whole(*hash == file.hash, || format!("file {} has another hash", file.name));
            if file.made.state.id().is_some_and(|own| plain(own) != *id) {
                found.lost(&format!("file {} has another id", file.name));
            }
        }
    }
    let there: usize = store.records.values().map(Vec::len).sum();
    if there > known {
        found.doubled(&format!("{} files that nobody uploaded", there - known));
    }
}

/// Downloads files and asks for what is known of them.
pub fn look(
    line: &Line<'_>,
    books: &Books,
    rounds: impl Fn(usize) -> bool,
    found: &mut Findings,
) -> Result<()> {
    for file in books.files.iter().filter(|file| rounds(file.round)) {
        let State::Done(id) = &file.made.state else { continue };
        match line.get(SYSTEM, &format!("/v1/files/{id}"), ADMIN) {
            Ok(answer) if goods::hash(&answer.bytes) == file.hash => {}
            Ok(_) => found.half(&format!("file {} downloads as another", file.name)),
            Err(error) => found.lost(&format!("file {}: {error:#}", file.name)),
        }
        let info = line.get(SYSTEM, &format!("/v1/files/{id}/info"), OWN)?.json;
        let archived = info["status"] == "archived";
        let shared =
            info["organisations"].as_array().is_some_and(|all| all.contains(&json!(ORGANISATIONS[OTHER])));
        for (state, is, what) in [(&file.archived, archived, "archived"), (&file.shared, shared, "shared")] {
            match state {
                Some(State::Done(_)) if !is => found.lost(&format!("file {} was {what}", file.name)),
                Some(State::Not) if is => found.doubled(&format!("file {} is {what}", file.name)),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Ends all doubt about files.
pub fn resolve(
    line: &mut Line<'_>,
    books: &mut Books,
    store: &Store,
    found: &mut Findings,
    round: usize,
) -> Result<()> {
    for file in books.files.iter_mut().filter(|file| file.round == round) {
        let known = Known::by(store.of(file).first().map(|(id, _)| dashed(id)));
        found.count("uploads", &file.made.state, known.there);
        let repeated = file.name.ends_with('7');
        let answer = settle(line, &file.request(), &file.made.state, &known, repeated, found)?;
        known.put(&mut file.made, answer.as_ref());
        let Some(id) = file.made.state.id().map(str::to_owned) else { continue };
        for state in [&file.archived, &file.shared].into_iter().flatten() {
            found.count("other writes", state, true);
        }
        if file.archived == Some(State::Doubt) {
            let before = line.get(SYSTEM, &format!("/v1/files/{id}/info"), OWN)?.json["status"] == "archived";
            let status = line.insist(&File::archive(&id))?.status;
            found.whole(status == if before { 409 } else { 200 }, || {
                format!("archiving again answered {status}")
            });
            file.archived = Some(State::Done(String::new()));
        }
        if file.shared == Some(State::Doubt) {
            line.insist(&File::share(&id))?;
            file.shared = Some(State::Done(String::new()));
        }
    }
    Ok(())
}

/// Ages what crashes left behind, has it swept, and says how many contents that took; afterwards none is left.
pub fn sweep(stage: &mut Stage<'_>, found: &mut Findings) -> Result<usize> {
    // First, since it sweeps by itself.
    stage.kill(&[SYSTEM])?;
    let before = read(stage, &mut BTreeSet::new(), found)?.forgotten;
    let folder = stage.services[SYSTEM].data().join("files");
    for shard in names(&folder)? {
        for name in names(&folder.join(&shard))? {
            age(&folder.join(&shard).join(name))?;
        }
    }
    let said = stage.services[SYSTEM].command(&["sweep-files"], &[])?;
    stage.launch(&[SYSTEM])?;
    stage.wait_ready(&[SYSTEM])?;
    let after = read(stage, &mut BTreeSet::new(), found)?;
    let removed = said.contains(&format!(" {before} of them removed"));
    found.whole(removed && after.forgotten == 0, || {
        format!("of {before} contents without a record {} stay: {}", after.forgotten, said.trim())
    });
    Ok(before)
}

impl Store {
    fn of(&self, file: &File) -> &[(String, String)] {
        self.records.get(&file.name).map(Vec::as_slice).unwrap_or_default()
    }
}

fn names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    Ok(entries
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()?)
}

fn plain(id: &str) -> String {
    id.replace('-', "")
}

/// An id as the services write it.
fn dashed(id: &str) -> String {
    let at = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    at.map(|(start, end)| id.get(start..end).unwrap_or_default()).join("-")
}
