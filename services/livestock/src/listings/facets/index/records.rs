//! Conversion of an index to records of a snapshot and back.

use anyhow::{Result, bail, ensure};

use super::FacetIndex;
use crate::listings::facets::record::IndexRecord;
use crate::listings::facets::row::FacetRow;
use crate::listings::facets::spelling::Spelling;

impl FacetIndex {
    /// Returns the contents of the index, without the latest changes.
    pub(crate) fn records(&self) -> impl Iterator<Item = IndexRecord<'_>> {
        let texts = &self.texts;
        let spellings = self.spellings.iter().map(|(term, text)| IndexRecord::Spelling(*term, text));
        let private = self.private_spellings.iter().filter_map(|((organisation, term), spelling)| {
            let text = spelling.decode(texts.terms.text(*term as usize)?);
            Some(IndexRecord::PrivateSpelling(*organisation, *term, text))
        });
        let listings = self.ids.iter().zip(&self.rows).zip(&self.measures).enumerate();
        let listings = listings.map(|(at, ((id, row), measures))| {
            IndexRecord::Listing(*id, *row, *measures, self.words.numbers_at(at, *id))
        });
        std::iter::once(IndexRecord::TypeKey(texts.types.key()))
            .chain(texts.terms.texts().map(IndexRecord::Term))
            .chain(texts.organisations.texts().map(IndexRecord::Organisation))
            .chain(texts.types.sets().map(|set| IndexRecord::Types(set.into())))
            .chain(spellings)
            .chain(private)
            .chain(self.words.words().map(IndexRecord::Word))
            .chain(listings)
    }

    /// Adds a record to an index that consists of the previous records.
    ///
    /// # Errors
    /// If the index cannot have such a record.
    pub(crate) fn restore(&mut self, record: IndexRecord<'_>) -> Result<()> {
        let texts = &mut self.texts;
        match record {
            IndexRecord::TypeKey(key) => ensure!(texts.types.set_key(key), "a key after sets of types"),
            IndexRecord::Term(text) => ensure!(texts.terms.add_new(text), "a term is empty or repeated"),
            IndexRecord::Organisation(id) => {
                ensure!(texts.organisations.add_new(id), "an organisation is empty or repeated");
            }
            IndexRecord::Types(set) => ensure!(texts.types.add_new(&set), "a set of types is malformed"),
            IndexRecord::Spelling(term, text) => {
                ensure!(texts.terms.text(term as usize).is_some(), "a spelling of an unknown term");
                self.spellings.insert(term, text.into());
            }
            IndexRecord::PrivateSpelling(organisation, term, text) => {
                let Some(term_text) = texts.terms.text(term as usize) else {
                    bail!("a private spelling of an unknown term")
                };
                self.private_spellings.insert((organisation, term), Spelling::of(term_text, &text));
            }
            IndexRecord::Word(word) => ensure!(self.words.add_word(word), "a word is malformed or repeated"),
            IndexRecord::Listing(id, row, measures, words) => {
                ensure!(self.has_texts_of(&row), "a listing with an unknown text");
                ensure!(self.ids.last().is_none_or(|last| *last < id), "a listing out of order");
                ensure!(self.words.add_listing(id, words.as_deref()), "a listing with an unknown word");
                self.ids.push(id);
                self.rows.push(row);
                self.measures.push(measures);
                // A snapshot has no unused texts.
                self.texts_after_removal = self.texts.terms.len() + self.texts.types.len();
            }
            IndexRecord::Stale(_) => bail!("not a record of the index"),
        }
        Ok(())
    }

    /// Completes an index whose records are all added.
    pub(crate) fn finish_restore(&mut self) {
        let rows = &self.rows;
        self.words.count_shares(|at| rows[at].organisation);
    }

    /// Returns whether the index has all texts that a row refers to by number.
    fn has_texts_of(&self, row: &FacetRow) -> bool {
        let (terms, texts) = ([row.breed, row.breed_type, row.society], &self.texts);
        terms.iter().all(|term| (*term as usize) < texts.terms.len())
            && (row.types as usize) < texts.types.len()
            && (row.organisation as usize) < texts.organisations.len()
    }

    /// Returns the number of listings.
    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }
}
