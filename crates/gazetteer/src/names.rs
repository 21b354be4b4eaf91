//! Search of places, regions and districts by name.

use std::cmp::Reverse;
use std::iter;

use fst::{IntoStreamer, Set, Streamer};

use crate::layout::{IS_WHOLE_NAME, SuffixRow};
use crate::spelling::SpellingAutomaton;
use crate::tables::{ENTITIES, FOLDED, SPELLINGS, SUFFIXES};

/// A set of entities. Entities are numbered by rank, so iteration in numerical order yields them by rank without
/// sorting.
#[derive(Clone)]
pub(crate) struct EntitySet(Vec<u64>);

impl Default for EntitySet {
    fn default() -> Self {
        Self(vec![0; ENTITIES.len().div_ceil(64)])
    }
}

impl EntitySet {
    fn insert(&mut self, entity: u32) {
        self.0[entity as usize / 64] |= 1 << (entity % 64);
    }

    fn contains(&self, entity: u32) -> bool {
        self.0[entity as usize / 64] >> (entity % 64) & 1 == 1
    }

    /// Returns the entities that are not in `other`.
    fn difference(mut self, other: &Self) -> Self {
        self.0.iter_mut().zip(&other.0).for_each(|(bits, other)| *bits &= !other);
        self
    }

    /// Returns the entities by rank.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().zip(0u32..).flat_map(|(bits, word)| {
            // Each step clears the lowest bit.
            let remaining = iter::successors(Some(*bits), |bits| Some(bits & bits.wrapping_sub(1)))
                .take_while(|bits| *bits != 0);
            remaining.map(move |bits| word * 64 + bits.trailing_zeros())
        })
    }
}

/// Entities by how well their best name matches. The sets are disjoint, except `whole_words`.
#[derive(Clone, Default)]
pub(crate) struct NameMatches {
    /// The name is the text.
    pub exact: EntitySet,
    /// The name starts with the text.
    pub prefix: EntitySet,
    /// Those of `prefix` in whose name a word ends where the text ends, by rank.
    pub whole_words: Vec<u32>,
    /// Each word of the text is the start of a word of the name, each of a different one.
    pub words: EntitySet,
}

/// Returns the entities that match a folded text.
pub(crate) fn match_names(text: &str) -> NameMatches {
    let mut matches = NameMatches::default();
    for Suffix { offset, entity, is_whole_name } in suffixes_with_prefix(text.as_bytes()) {
        match FOLDED[offset + text.len()] {
            b'\n' if is_whole_name => matches.exact.insert(entity),
            end if is_whole_name => {
                matches.prefix.insert(entity);
                if end == b' ' {
                    matches.whole_words.push(entity);
                }
            }
            _ => matches.words.insert(entity),
        }
    }
    if text.contains(' ') {
        match_words(text, &mut matches.words);
    }
    matches.prefix = matches.prefix.difference(&matches.exact);
    matches.whole_words.retain(|entity| matches.prefix.contains(*entity));
    matches.whole_words.sort_unstable();
    matches.whole_words.dedup();
    matches.words = matches.words.difference(&matches.exact).difference(&matches.prefix);
    matches
}

/// Adds the entities that have a name in which each word of the text is the start of a different word.
fn match_words(text: &str, entities: &mut EntitySet) {
    let mut query_words: Vec<&str> = text.split(' ').collect();
    // Longest first: a shorter word matches every word of the name that a longer word with the same start matches, so
    // the longer one must choose first.
    query_words.sort_by_key(|word| Reverse(word.len()));
    let rarest = query_words.iter().min_by_key(|word| suffixes_with_prefix(word.as_bytes()).len());
    let rarest = rarest.copied().unwrap_or_default();
    for Suffix { offset, entity, .. } in suffixes_with_prefix(rarest.as_bytes()) {
        let name = name_around(offset);
        let mut used_words = 0u64;
        let match_unused_word = |query_word: &&str| {
            let mut words = name.split(|byte| *byte == b' ').zip(0..64);
            let is_match = |(word, i): &(&[u8], u32)| {
                used_words >> i & 1 == 0 && word.starts_with(query_word.as_bytes())
            };
            let matched = words.find(is_match);
            used_words |= matched.map_or(0, |(_, i)| 1 << i);
            matched.is_some()
        };
        if query_words.iter().all(match_unused_word) {
            entities.insert(entity);
        }
    }
}

/// The automaton of all folded names.
pub(crate) struct SpellingIndex {
    spellings: Set<&'static [u8]>,
}

impl SpellingIndex {
    /// Opens the embedded automaton.
    pub(crate) fn open() -> Self {
        let Ok(spellings) = Set::new(SPELLINGS) else { unreachable!("the build script wrote it") };
        Self { spellings }
    }

    /// Returns the entities that have a name at one edit from the folded text, and those at two, except those in
    /// `excluded`.
    pub(crate) fn similar(&self, text: &str, excluded: &NameMatches) -> [EntitySet; 2] {
        let max_edits = max_edits(text);
        let mut by_edits = [EntitySet::default(), EntitySet::default()];
        if max_edits > 0 {
            let automaton = SpellingAutomaton { word: text.as_bytes(), max_edits };
            let mut names = self.spellings.search_with_state(&automaton).into_stream();
            while let Some((name, state)) = names.next() {
                let distance = usize::from(automaton.distance(&state));
                let Some(entities) = distance.checked_sub(1).and_then(|i| by_edits.get_mut(i)) else {
                    continue;
                };
                let same_name =
                    suffixes_with_prefix(name).take_while(|s| FOLDED[s.offset + name.len()] == b'\n');
                same_name.filter(|s| s.is_whole_name).for_each(|s| entities.insert(s.entity));
            }
        }
        let [one, two] = by_edits.map(|entities| {
            entities.difference(&excluded.exact).difference(&excluded.prefix).difference(&excluded.words)
        });
        let two = two.difference(&one);
        [one, two]
    }
}

/// Returns the number of edits up to which spellings are similar: none for short texts, which resemble too many names,
/// and for texts with digits, which are codes.
fn max_edits(text: &str) -> u8 {
    match text.len() {
        _ if text.contains(|c: char| c.is_ascii_digit()) => 0,
        0..4 => 0,
        4..8 => 1,
        _ => 2,
    }
}

/// A part of a folded name from the start of a word to the end.
struct Suffix {
    /// Offset in `FOLDED`.
    offset: usize,
    entity: u32,
    is_whole_name: bool,
}

/// Returns the suffixes of names that start with `prefix`.
fn suffixes_with_prefix(prefix: &[u8]) -> impl ExactSizeIterator<Item = Suffix> + use<> {
    let start = |row: &[u8; SuffixRow::BYTES]| {
        let suffix = &FOLDED[SuffixRow::read(row).offset as usize..];
        &suffix[..suffix.len().min(prefix.len())]
    };
    let from = SUFFIXES.partition_point(|row| start(row) < prefix);
    let to = from + SUFFIXES[from..].partition_point(|row| start(row) == prefix);
    SUFFIXES[from..to].iter().map(|row| {
        let SuffixRow { offset, entity } = SuffixRow::read(row);
        Suffix {
            offset: offset as usize,
            entity: entity & !IS_WHOLE_NAME,
            is_whole_name: entity & IS_WHOLE_NAME != 0,
        }
    })
}

/// Returns the whole name that contains this offset of `FOLDED`.
fn name_around(offset: usize) -> &'static [u8] {
    let is_line_break = |byte: &u8| *byte == b'\n';
    let from = FOLDED[..offset].iter().rposition(is_line_break).map_or(0, |at| at + 1);
    let to = FOLDED[offset..].iter().position(is_line_break).map_or(FOLDED.len(), |length| offset + length);
    &FOLDED[from..to]
}
