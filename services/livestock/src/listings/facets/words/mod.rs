//! The words of listings, so that facets of a free-text query are counted in memory: the database would need more than
//! 0.1 s for a word that many of 100,000 listings have.
//!
//! A word of a query occurs in a text exactly if it occurs in one of the parts between white space. Each different
//! part is stored once, in a [`Dictionary`], and a listing has the numbers of its parts ([`ListingWords`]). A query
//! looks for its words in the dictionary, and then for the numbers of the found parts in each listing.
//!
//! Memory is limited: the words of listings with very many, very long or very many new ones, and of those for which
//! their organisation has no room ([`shares`]), are not stored. The database compares their texts.

mod dictionary;
mod listing_words;
mod numbers;
mod shares;
#[cfg(test)]
mod tests;

pub(crate) use listing_words::{ListingWords, WordFilter};
