//! The digest of what is imported, so that decisions about its rows do not land in the rows of something else.

use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// A digest that grows while files pass through.
pub(crate) struct Content {
    context: Context,
    /// The bytes of the current file.
    length: u64,
}

impl Default for Content {
    fn default() -> Self {
        Self { context: Context::new(&SHA256), length: 0 }
    }
}

impl Content {
    /// Adds bytes of a file.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.context.update(bytes);
        self.length += bytes.len() as u64;
    }

    /// Ends a file.
    pub(crate) fn end_file(&mut self) {
        self.context.update(&self.length.to_be_bytes());
        self.length = 0;
    }

    /// Adds pasted rows. Forms change how their lines end, and drop an empty line at the beginning.
    pub(crate) fn add_pasted(&mut self, pasted: &str) {
        self.add(pasted.replace("\r\n", "\n").trim_start_matches('\n').as_bytes());
        self.end_file();
    }

    /// Returns the digest as a text.
    pub(crate) fn finish(self) -> String {
        URL_SAFE_NO_PAD.encode(self.context.finish())
    }
}
