//! The clients: each writes without pause what is its own, and writes it down.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;

use super::books::{Batch, Books, File, Listing, Load, Proof, Sending};
use super::goods::{self, Goods};
use super::line::{Addresses, Attempt, Line, ORGANISATIONS, OTHER, State};
use crate::random::Random;

/// What a client does.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    Loads,
    Batches,
    Files,
    Listings,
}

/// All clients.
pub const CLIENTS: [Work; 6] =
    [Work::Loads, Work::Loads, Work::Batches, Work::Files, Work::Listings, Work::Listings];

/// What clients are told, and tell.
#[derive(Debug, Default)]
pub struct Bell {
    /// They are to stop.
    pub enough: AtomicBool,
    /// Loads and listings that they created.
    pub made: AtomicUsize,
}

/// A client at work.
pub struct Writer<'a> {
    pub line: Line<'a>,
    pub random: Random,
    pub round: usize,
    /// Begins all its names.
    pub name: String,
    /// What the next thing is drawn from.
    next: usize,
    books: Books,
}

impl<'a> Writer<'a> {
    /// The client with this number in a round.
    pub fn new(addresses: &'a Addresses, seed: usize, round: usize, client: usize) -> Self {
        let number = (seed * 100 + round) * 10 + client;
        let (random, books) = (Random::of(number), Books::default());
        let name = format!("R{round:02}C{client}");
        Self { line: Line::new(addresses), random, round, name, next: number * 1_000_000, books }
    }

    /// Writes until it is told to stop.
    pub fn run(mut self, work: Work, bell: &Bell) -> Result<Books> {
        while !bell.enough.load(Ordering::Relaxed) {
            let before = self.books.made();
            match work {
                Work::Loads => self.load()?,
                Work::Batches => self.batch()?,
                Work::Files => self.files()?,
                Work::Listings => self.listing()?,
            }
            bell.made.fetch_add(self.books.made() - before, Ordering::Relaxed);
            // So that some thousand writes are what there is to verify, and batches are some tens of thousands of rows.
            let most = if matches!(work, Work::Batches) { 200 } else { 8 };
            sleep(Duration::from_millis(self.random.below(most) as u64));
        }
        Ok(self.books)
    }

    fn number(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    /// A name, a number, and a key for one of two.
    fn begin(&mut self) -> (String, usize, Attempt) {
        let number = self.number();
        let name = format!("{}N{:06}", self.name, number % 1_000_000);
        let attempt = self.begin_keyed(&name);
        (name, number, attempt)
    }

    fn begin_keyed(&mut self, name: &str) -> Attempt {
        let key = self.random.percent(50).then(|| format!("key-{name}"));
        Attempt { key, state: State::Doubt }
    }

    fn load(&mut self) -> Result<()> {
        let (reference, number, made) = self.begin();
        let goods = Goods::of(reference, number, self.random.percent(30));
        let files = if self.random.percent(25) { self.upload(2000)? } else { None };
        let (files, shown) = (files.into_iter().collect(), serde_json::Value::Null);
        let mut load = Load { round: self.round, goods, files, made, shown, proof: None, sent: Vec::new() };
        let Some((state, shown)) = self.line.attempt(&load.request())? else { return Ok(()) };
        (load.made.state, load.shown) = (state, shown);
        match self.random.below(100) {
            0..25 => self.prove(&mut load)?,
            25..35 => self.send(&mut load)?,
            35..60 if !load.files.is_empty() => self.send(&mut load)?,
            _ => {}
        }
        self.books.loads.push(load);
        Ok(())
    }

    fn prove(&mut self, load: &mut Load) -> Result<()> {
        let State::Done(id) = &load.made.state else { return Ok(()) };
        let Some(file) = self.upload(30_000)? else { return Ok(()) };
        let reference = &load.goods.reference;
        let mut proof = Proof {
            net: format!("{}.25", 1 + self.random.below(30)),
            ticket: format!("P-{reference}"),
            registration: "PR12XYZ".to_owned(),
            file,
            done: self.begin_keyed(&format!("{reference}-proof")),
        };
        if let Some((state, shown)) = self.line.attempt(&proof.request(id))? {
            if matches!(state, State::Done(_)) {
                load.shown = shown;
            }
            proof.done.state = state;
            load.proof = Some(proof);
        }
        Ok(())
    }

    fn send(&mut self, load: &mut Load) -> Result<()> {
        let State::Done(id) = &load.made.state else { return Ok(()) };
        for to_carrier in [self.random.percent(50) && load.goods.has_no_carrier(), false] {
            let driver = format!("driver-{}-{}", load.goods.reference, load.sent.len());
            let recipient = if to_carrier { ORGANISATIONS[OTHER].to_owned() } else { driver };
            let done = self.begin_keyed(&format!("{}-{}", load.goods.reference, load.sent.len()));
            let mut sending = Sending { to_carrier, recipient, done };
            let Some((state, _)) = self.line.attempt(&sending.request(id))? else { return Ok(()) };
            sending.done.state = state;
            load.sent.push(sending);
        }
        Ok(())
    }

    fn batch(&mut self) -> Result<()> {
        let (name, first, done) = self.begin();
        let rows = if self.random.percent(8) { 2500 } else { 100 + self.random.below(400) };
        // The numbers of its rows are nobody else's.
        let mut batch = Batch { round: self.round, name, first: first * 10_000, rows, done, ids: Vec::new() };
        let Some((state, shown)) = self.line.attempt(&batch.request())? else { return Ok(()) };
        batch.done.state = state;
        batch.ids = ids(&shown);
        self.books.batches.push(batch);
        Ok(())
    }

    fn files(&mut self) -> Result<()> {
        let most = if self.random.percent(15) { 4 << 20 } else { 64 << 10 };
        self.upload(most)?;
        let Some(file) = self.books.files.last_mut() else { return Ok(()) };
        let State::Done(id) = &file.made.state else { return Ok(()) };
        match self.random.below(100) {
            _ if file.archived.is_some() || file.shared.is_some() => {}
            0..20 => {
                file.archived = self.line.attempt(&File::archive(id))?.map(|(state, _)| state);
            }
            20..40 => {
                file.shared = self.line.attempt(&File::share(id))?.map(|(state, _)| state);
            }
            _ => {}
        }
        Ok(())
    }

    /// Uploads up to so many bytes and gives the file's id, if that is known.
    fn upload(&mut self, most: usize) -> Result<Option<String>> {
        let (name, number, made) = self.begin();
        // The content of some is that of others, which is kept once.
        let (seed, bytes) = if self.random.percent(15) {
            (self.random.below(8), 5000)
        } else {
            (number, 1 + self.random.below(most))
        };
        let hash = goods::hash(&goods::content(seed, bytes));
        let (round, archived, shared) = (self.round, None, None);
        let mut file = File { round, name, seed, bytes, hash, made, archived, shared };
        let Some((state, _)) = self.line.attempt(&file.request())? else { return Ok(None) };
        let id = state.id().map(str::to_owned);
        file.made.state = state;
        self.books.files.push(file);
        Ok(id)
    }

    fn listing(&mut self) -> Result<()> {
        let (mark, number, made) = self.begin();
        let file = if self.random.percent(25) { self.upload(2000)? } else { None };
        let (category, body) = goods::listing(&mark, number, file.as_deref());
        let (round, steps, wished, reported) = (self.round, Vec::new(), None, None);
        let mut listing = Listing { round, mark, category, body, file, made, steps, wished, reported };
        let Some((state, _)) = self.line.attempt(&listing.request())? else { return Ok(()) };
        listing.made.state = state;
        if let State::Done(id) = listing.made.state.clone() {
            self.follow(&mut listing, &id)?;
        }
        self.books.listings.push(listing);
        Ok(())
    }

    /// Publishes and closes a listing, puts it on the wishlist, reports it: some of that, mostly nothing.
    fn follow(&mut self, listing: &mut Listing, id: &str) -> Result<()> {
        if listing.first() == "draft" {
            if !self.random.percent(60) || !self.step(listing, id, "active")? {
                return Ok(());
            }
        } else if self.random.percent(20) {
            listing.wished = self.line.attempt(&Listing::wish(id))?.map(|(state, _)| state);
        } else if self.random.percent(10) {
            listing.reported = self.line.attempt(&listing.report(id))?.map(|(state, _)| state);
        }
        if self.random.percent(30) {
            let to = self.random.one(&["sold", "found", "cancelled"]);
            self.step(listing, id, to)?;
        }
        Ok(())
    }

    /// Takes a listing a step on, and says whether that was acknowledged.
    fn step(&mut self, listing: &mut Listing, id: &str, to: &'static str) -> Result<bool> {
        let Some((state, _)) = self.line.attempt(&Listing::step(id, to))? else { return Ok(false) };
        let done = matches!(state, State::Done(_));
        listing.steps.push((to, state));
        Ok(done)
    }
}

/// The ids that the answer to a batch has.
pub fn ids(shown: &serde_json::Value) -> Vec<String> {
    let ids = shown["ids"].as_array().into_iter().flatten();
    ids.filter_map(|id| id.as_str().map(str::to_owned)).collect()
}
