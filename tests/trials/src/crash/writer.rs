//! The clients that write while services are killed. Each records its own writes.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use anyhow::{Result, anyhow};
use serde_json::Value;
use testkit::market::random::Random;
use testkit::processes::trial::Trial;

use super::client::{Client, Endpoints, Request};
use super::fixture::{ListingFixture, LoadFixture, PARTNER, ProofFixture, content, sha256};
use super::records::{
    BatchRecord, FileRecord, ListingRecord, LoadRecord, ProofRecord, Records, SendRecord, Write,
};

/// What a client writes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Task {
    Loads,
    Batches,
    Files,
    Listings,
}

/// The tasks of all clients.
const CLIENTS: [Task; 6] =
    [Task::Loads, Task::Loads, Task::Batches, Task::Files, Task::Listings, Task::Listings];

/// Longest pauses after a batch and after other writes, in milliseconds. They limit a round to some thousand writes
/// and some ten thousand rows of batches.
const MAX_PAUSE_MS: [usize; 2] = [200, 8];
/// Maximum sizes of uploads in bytes: most of them, 15 % of them, proofs, and files of loads and listings.
const SMALL: usize = 64 << 10;
const LARGE: usize = 4 << 20;
const PROOF: usize = 30_000;
const ATTACHED: usize = 2_000;

/// Shared by the clients and the thread that kills services.
#[derive(Debug, Default)]
pub struct Progress {
    /// Tells the clients to stop.
    stop: AtomicBool,
    /// Number of single creates of loads and listings.
    pub creates: AtomicUsize,
}

/// Lets all clients write until `action` has ended, and returns their records.
pub fn write_during(
    trial: &Trial<'_>,
    endpoints: &Endpoints,
    (seed, round): (usize, usize),
    action: impl FnOnce(&Progress) -> Result<()>,
) -> Result<Records> {
    let progress = Progress::default();
    scope(|scope| {
        let start = |(index, task)| {
            let writer = Writer::new(Client::new(trial, endpoints), seed, round, index);
            let progress = &progress;
            scope.spawn(move || writer.run(task, progress))
        };
        let clients: Vec<_> = CLIENTS.into_iter().enumerate().map(start).collect();
        let done = action(&progress);
        progress.stop.store(true, Ordering::Relaxed);
        let mut records = Records::default();
        for client in clients {
            records.extend(client.join().map_err(|_| anyhow!("a client panicked"))??);
        }
        done.map(|()| records)
    })
}

/// One client.
struct Writer<'a> {
    client: Client<'a>,
    random: Random,
    /// Prefix of its markers.
    prefix: String,
    /// Number of the next fixture.
    next_number: usize,
    records: Records,
}

impl<'a> Writer<'a> {
    /// The client with this index in a round.
    fn new(client: Client<'a>, seed: usize, round: usize, index: usize) -> Self {
        let number = (seed * 100 + round) * 10 + index;
        Self {
            client,
            random: Random::of(number),
            prefix: format!("R{round:02}C{index}"),
            next_number: number * 1_000_000,
            records: Records::default(),
        }
    }

    /// Writes until it is told to stop.
    fn run(mut self, task: Task, progress: &Progress) -> Result<Records> {
        let max_pause = MAX_PAUSE_MS[usize::from(task != Task::Batches)];
        while !progress.stop.load(Ordering::Relaxed) {
            let creates = self.records.creates();
            match task {
                Task::Loads => self.create_load()?,
                Task::Batches => self.import_batch()?,
                Task::Files => self.upload_and_change()?,
                Task::Listings => self.create_listing()?,
            }
            progress.creates.fetch_add(self.records.creates() - creates, Ordering::Relaxed);
            sleep(Duration::from_millis(self.random.below(max_pause) as u64));
        }
        Ok(self.records)
    }

    /// A number, its unique marker, and a write.
    fn begin(&mut self) -> (usize, String, Write) {
        self.next_number += 1;
        let number = self.next_number;
        let marker = format!("{}N{:06}", self.prefix, number % 1_000_000);
        let write = self.new_write(&marker);
        (number, marker, write)
    }

    /// A write that has a key in half of the cases.
    fn new_write(&mut self, marker: &str) -> Write {
        let key = self.random.percent(50).then(|| format!("key-{marker}"));
        Write::new(key)
    }

    fn create_load(&mut self) -> Result<()> {
        let (number, reference, create) = self.begin();
        let fixture = LoadFixture::new(reference, number, self.random.percent(30));
        let files = self.maybe_attached_file()?.into_iter().collect();
        let mut load =
            LoadRecord { fixture, files, create, response: Value::Null, proof: None, sends: Vec::new() };
        let Some(answer) = self.client.try_write(&load.request())? else { return Ok(()) };
        load.create.set(&answer);
        load.response = without_warnings(answer.json);
        if let Some(id) = load.create.id().map(str::to_owned) {
            match self.random.below(100) {
                0..25 => self.prove(&mut load, &id)?,
                25..35 => self.send(&mut load, &id)?,
                35..60 if !load.files.is_empty() => self.send(&mut load, &id)?,
                _ => {}
            }
        }
        self.records.loads.push(load);
        Ok(())
    }

    fn prove(&mut self, load: &mut LoadRecord, id: &str) -> Result<()> {
        let Some(file) = self.upload(PROOF)? else { return Ok(()) };
        let reference = &load.fixture.reference;
        let fixture = ProofFixture {
            net_weight: self.random.between((1.0, 30.0)).floor() + 0.25,
            ticket: format!("P-{reference}"),
            registration: "PR12XYZ",
            file,
        };
        let mut proof = ProofRecord { fixture, write: self.new_write(&format!("{reference}-proof")) };
        if let Some(answer) = self.client.try_write(&proof.request(id))? {
            proof.write.set(&answer);
            if proof.write.id().is_some() {
                load.response = without_warnings(answer.json);
            }
            load.proof = Some(proof);
        }
        Ok(())
    }

    /// Sends a load to a carrier or a driver, and to another driver.
    fn send(&mut self, load: &mut LoadRecord, id: &str) -> Result<()> {
        for to_carrier in [self.random.percent(50) && !load.fixture.is_carried, false] {
            let marker = format!("{}-{}", load.fixture.reference, load.sends.len());
            let recipient = if to_carrier { PARTNER.id.to_owned() } else { format!("driver-{marker}") };
            let mut send = SendRecord { to_carrier, recipient, write: self.new_write(&marker) };
            let Some(answer) = self.client.try_write(&send.request(id))? else { return Ok(()) };
            send.write.set(&answer);
            load.sends.push(send);
        }
        Ok(())
    }

    fn import_batch(&mut self) -> Result<()> {
        let (number, name, write) = self.begin();
        let rows = if self.random.percent(8) { 2500 } else { 100 + self.random.below(400) };
        let first_number = number * 10_000; // no other fixture has the numbers of its rows
        let mut batch = BatchRecord { name, first_number, rows, write, ids: Vec::new() };
        let Some(answer) = self.client.try_write(&batch.request())? else { return Ok(()) };
        batch.write.set(&answer);
        batch.ids = BatchRecord::response_ids(&answer.json);
        self.records.batches.push(batch);
        Ok(())
    }

    fn upload_and_change(&mut self) -> Result<()> {
        let max_bytes = if self.random.percent(15) { LARGE } else { SMALL };
        let Some(id) = self.upload(max_bytes)? else { return Ok(()) };
        let [archive, share] = match self.random.below(100) {
            0..20 => [self.attempt(&FileRecord::archive_request(&id))?, None],
            20..40 => [None, self.attempt(&FileRecord::share_request(&id))?],
            _ => [None, None],
        };
        if let Some(file) = self.records.files.last_mut() {
            (file.archive, file.share) = (archive, share);
        }
        Ok(())
    }

    /// Sends a write without a key.
    fn attempt(&mut self, request: &Request<'_>) -> Result<Option<Write>> {
        Ok(self.client.try_write(request)?.map(|answer| Write::answered(&answer)))
    }

    /// Uploads a file in a quarter of the cases and returns its id.
    fn maybe_attached_file(&mut self) -> Result<Option<String>> {
        if self.random.percent(25) { self.upload(ATTACHED) } else { Ok(None) }
    }

    /// Uploads a file of at most `max_bytes` and returns its id if the upload was acknowledged.
    fn upload(&mut self, max_bytes: usize) -> Result<Option<String>> {
        let (number, name, upload) = self.begin();
        // Some files have the same content, which is stored once.
        let (seed, bytes) = if self.random.percent(15) {
            (self.random.below(8), 5000)
        } else {
            (number, 1 + self.random.below(max_bytes))
        };
        let hash = sha256(&content(seed, bytes));
        let mut file = FileRecord { name, seed, bytes, hash, upload, archive: None, share: None };
        let Some(answer) = self.client.try_write(&file.request())? else { return Ok(None) };
        file.upload.set(&answer);
        let id = file.upload.id().map(str::to_owned);
        self.records.files.push(file);
        Ok(id)
    }

    fn create_listing(&mut self) -> Result<()> {
        let (number, marker, create) = self.begin();
        let fixture = ListingFixture::new(marker, number, self.maybe_attached_file()?);
        let mut listing =
            ListingRecord { fixture, create, transitions: Vec::new(), wish: None, report: None };
        let Some(answer) = self.client.try_write(&listing.request())? else { return Ok(()) };
        listing.create.set(&answer);
        if let Some(id) = listing.create.id().map(str::to_owned) {
            self.change_listing(&mut listing, &id)?;
        }
        self.records.listings.push(listing);
        Ok(())
    }

    /// Publishes, wishes for, reports and closes some listings.
    fn change_listing(&mut self, listing: &mut ListingRecord, id: &str) -> Result<()> {
        if listing.fixture.status() == "draft" {
            if !self.random.percent(60) || !self.transition(listing, id, "active")? {
                return Ok(());
            }
        } else if self.random.percent(20) {
            listing.wish = self.attempt(&ListingRecord::wish_request(id))?;
        } else if self.random.percent(10) {
            listing.report = self.attempt(&listing.report_request(id))?;
        }
        if self.random.percent(30) {
            let status = self.random.one(&["sold", "found", "cancelled"]);
            self.transition(listing, id, status)?;
        }
        Ok(())
    }

    /// Changes the status of a listing. Returns whether that was acknowledged.
    fn transition(&mut self, listing: &mut ListingRecord, id: &str, status: &'static str) -> Result<bool> {
        let request = ListingRecord::transition_request(id, status);
        let Some(write) = self.attempt(&request)? else { return Ok(false) };
        let is_acknowledged = write.id().is_some();
        listing.transitions.push((status, write));
        Ok(is_acknowledged)
    }
}

/// Returns the load of a response, of which warnings are no part.
pub fn without_warnings(mut response: Value) -> Value {
    response.as_object_mut().and_then(|members| members.remove("warnings"));
    response
}
