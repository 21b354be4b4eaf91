//! Counts the records of an export while it arrives: a JSON object with an array for each kind of records.

/// Kinds of records, and characters of their names, that are counted at most.
const MAX_KINDS: usize = 100;
const MAX_NAME_BYTES: usize = 100;

/// What has arrived so far.
#[derive(Debug, Default)]
pub(crate) struct RecordCounter {
    depth: usize,
    is_in_text: bool,
    is_escaped: bool,
    /// A record may begin.
    is_waiting: bool,
    name: Vec<u8>,
    kinds: Vec<(String, u64)>,
}

impl RecordCounter {
    /// Counts a part of the export.
    pub(crate) fn add(&mut self, part: &[u8]) {
        for byte in part {
            self.add_byte(*byte);
        }
    }

    /// Returns the kinds with their numbers.
    pub(crate) fn kinds(self) -> Vec<(String, u64)> {
        self.kinds
    }

    fn add_byte(&mut self, byte: u8) {
        if self.is_in_text {
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_text = false,
                _ if self.depth == 1 && self.name.len() < MAX_NAME_BYTES => self.name.push(byte),
                _ => {}
            }
            return;
        }
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' | b':' => {}
            b',' => self.is_waiting = self.depth == 2,
            b'}' | b']' => self.depth = self.depth.saturating_sub(1),
            b'"' => {
                self.begin_record();
                self.is_in_text = true;
                if self.depth == 1 {
                    self.name.clear();
                }
            }
            b'{' | b'[' => {
                self.begin_record();
                self.depth += 1;
                if self.depth == 2 && byte == b'[' && self.kinds.len() < MAX_KINDS {
                    self.kinds.push((String::from_utf8_lossy(&self.name).into_owned(), 0));
                    self.is_waiting = true;
                }
            }
            _ => self.begin_record(),
        }
    }

    fn begin_record(&mut self) {
        if self.depth == 2 && self.is_waiting {
            self.is_waiting = false;
            if let Some((_, count)) = self.kinds.last_mut() {
                *count += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_records_in_any_pieces() {
        let text = r#"{"files": [{"name": "a \"],[{", "tags": [1, 2]}, {"x": {}}], "events":[], "ids" : ["a", 7, null]}"#;
        for size in [1, 3, 7, text.len()] {
            let mut counter = RecordCounter::default();
            for part in text.as_bytes().chunks(size) {
                counter.add(part);
            }
            let expected = [("files", 2), ("events", 0), ("ids", 3)];
            assert_eq!(counter.kinds(), expected.map(|(name, count)| (name.to_owned(), count)), "{size}");
        }
    }
}
