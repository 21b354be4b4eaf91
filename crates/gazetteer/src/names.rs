//! Places and regions by their names.

use std::cmp::Reverse;
use std::iter;

use fst::{IntoStreamer, Set, Streamer};

use crate::spelling::Near;
use crate::tables::{ENTITIES, FOLDED, IS_WHOLE, SPELLINGS, SUFFIXES, u32_at};

/// Numbers of entities. They come out best first, as entities are numbered so: no result is ever sorted.
#[derive(Clone)]
pub struct EntitySet(Vec<u64>);

impl Default for EntitySet {
    fn default() -> Self {
        Self(vec![0; ENTITIES.len().div_ceil(64)])
    }
}

impl EntitySet {
    fn add(&mut self, entity: u32) {
        self.0[entity as usize / 64] |= 1 << (entity % 64);
    }

    /// The same but those in `other`.
    fn without(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(bits, other)| *bits &= !other);
        self
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().zip(0u32..).flat_map(|(bits, word)| {
            let rest = iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|bits| *bits != 0);
            rest.map(move |bits| word * 64 + bits.trailing_zeros())
        })
    }
}

/// Entities by how well a name of theirs matches, each once.
#[derive(Clone, Default)]
pub struct Matches {
    /// It is what was asked.
    pub exact: EntitySet,
    /// It begins so.
    pub prefix: EntitySet,
    /// Every word that was asked begins a word of it, each another.
    pub words: EntitySet,
}

/// Entities whose name is or begins as the folded text, or has words that do.
pub fn matches(text: &str) -> Matches {
    let mut found = Matches::default();
    for (at, entity, whole) in range(text) {
        match FOLDED[at + text.len()] {
            b'\n' if whole => found.exact.add(entity),
            _ if whole => found.prefix.add(entity),
            _ => found.words.add(entity),
        }
    }
    if text.contains(' ') {
        let mut asked: Vec<&str> = text.split(' ').collect();
        // The longest first: what it may take of a name's words a shorter one may take too, but not the other way.
        asked.sort_by_key(|word| Reverse(word.len()));
        let rarest = asked.iter().min_by_key(|word| range(word).len()).copied().unwrap_or_default();
        for (at, entity, _) in range(rarest) {
            let name = name(at);
            let mut taken = 0u64;
            let take = |asked: &&str| {
                let mut words = name.split(|byte| *byte == b' ').zip(0..64);
                let fits =
                    |(word, i): &(&[u8], u32)| taken >> i & 1 == 0 && word.starts_with(asked.as_bytes());
                let found = words.find(fits);
                taken |= found.map_or(0, |(_, i)| 1 << i);
                found.is_some()
            };
            if asked.iter().all(take) {
                found.words.add(entity);
            }
        }
    }
    found.prefix = found.prefix.without(&found.exact);
    found.words = found.words.without(&found.exact).without(&found.prefix);
    found
}

/// The automaton of all names.
pub struct Names {
    spellings: Set<&'static [u8]>,
}

impl Names {
    pub fn open() -> Self {
        let Ok(spellings) = Set::new(SPELLINGS) else { unreachable!("build/ wrote it") };
        Self { spellings }
    }

    /// Entities with a name spelled nearly as the folded text, by the number of edits, but those in `matches`.
    pub fn near(&self, text: &str, matches: &Matches) -> [EntitySet; 2] {
        let edits = edits(text);
        let mut found = [EntitySet::default(), EntitySet::default()];
        if edits > 0 {
            let near = Near { word: text.as_bytes(), edits };
            let mut spelled = self.spellings.search_with_state(&near).into_stream();
            while let Some((name, state)) = spelled.next() {
                let distance = near.distance(&state);
                let Some(ranks) = usize::from(distance).checked_sub(1).and_then(|i| found.get_mut(i)) else {
                    continue;
                };
                let named = range_of(name).take_while(|(at, ..)| FOLDED[at + name.len()] == b'\n');
                named.filter(|(.., whole)| *whole).for_each(|(_, entity, _)| ranks.add(entity));
            }
        }
        let [one, two] =
            found.map(|r| r.without(&matches.exact).without(&matches.prefix).without(&matches.words));
        let two = two.without(&one);
        [one, two]
    }
}

/// How many edits still make a near spelling: none of short texts, where all are near, nor of codes.
fn edits(text: &str) -> u8 {
    match text.len() {
        _ if text.contains(|c: char| c.is_ascii_digit()) => 0,
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// Where names go on so from the begin of a word: begin in `FOLDED`, entity, and whether it is the name's first word.
fn range(start: &str) -> impl ExactSizeIterator<Item = (usize, u32, bool)> {
    range_of(start.as_bytes())
}

fn range_of(start: &[u8]) -> impl ExactSizeIterator<Item = (usize, u32, bool)> + use<> {
    let begin = |row: &[u8; 8]| {
        let rest = &FOLDED[u32_at(row, 0) as usize..];
        &rest[..rest.len().min(start.len())]
    };
    let from = SUFFIXES.partition_point(|row| begin(row) < start);
    let to = from + SUFFIXES[from..].partition_point(|row| begin(row) == start);
    SUFFIXES[from..to].iter().map(|row| {
        let number = u32_at(row, 4);
        (u32_at(row, 0) as usize, number & !IS_WHOLE, number & IS_WHOLE != 0)
    })
}

/// The name around that place in `FOLDED`.
fn name(at: usize) -> &'static [u8] {
    let is_break = |byte: &u8| *byte == b'\n';
    let from = FOLDED[..at].iter().rposition(is_break).map_or(0, |at| at + 1);
    let to = FOLDED[at..].iter().position(is_break).map_or(FOLDED.len(), |length| at + length);
    &FOLDED[from..to]
}
