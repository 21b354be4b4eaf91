//! Small gzip files and ZIP archives of large contents, written without the contents in memory.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// The last block of a deflate stream, which is empty.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// A raw deflate stream and the checksum of its content.
pub struct Deflated {
    bytes: Vec<u8>,
    crc: Crc,
}

impl Deflated {
    /// Appends the content of `other`.
    pub fn then(mut self, mut other: Self) -> Self {
        self.bytes.truncate(self.bytes.len() - LAST_BLOCK.len());
        self.bytes.append(&mut other.bytes);
        self.crc.combine(&other.crc);
        self
    }
}

/// Compresses `piece`, repeated `times` times.
pub fn deflate(piece: &[u8], times: usize) -> Deflated {
    let capacity = piece.len() / 8 + (64 << 10);
    let (mut compress, mut block) = (Compress::new(Compression::best(), false), Vec::with_capacity(capacity));
    // A full flush makes blocks that do not refer to earlier ones: they can be repeated.
    let _ = compress.compress_vec(piece, &mut block, FlushCompress::Full);
    let (mut piece_crc, mut crc) = (Crc::new(), Crc::new());
    piece_crc.update(piece);
    (0..times).for_each(|_| crc.combine(&piece_crc));
    Deflated { bytes: [block.repeat(times), LAST_BLOCK.into()].concat(), crc }
}

/// Writes a gzip file (RFC 1952).
pub fn gzip(content: &Deflated) -> Vec<u8> {
    let trailer = [content.crc.sum().to_le_bytes(), content.crc.amount().to_le_bytes()].concat();
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], content.bytes.as_slice(), &trailer].concat()
}

/// Writes a ZIP archive of these entries (APPNOTE.TXT, 4.3).
pub fn zip(entries: &[(&str, Deflated)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, entry) in entries {
        let offset = saturate(archive.len());
        let sizes =
            [entry.crc.sum(), saturate(entry.bytes.len()), entry.crc.amount()].map(u32::to_le_bytes).concat();
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes();
        let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &sizes, &length, &[0, 0]].concat();
        archive.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &entry.bytes].concat());
        let location = [&[0; 10][..], &offset.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0", common.as_slice(), &location, name.as_bytes()].concat());
    }
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX).to_le_bytes();
    let location = [saturate(directory.len()), saturate(archive.len())].map(u32::to_le_bytes).concat();
    [archive, directory, [b"PK\x05\x06\0\0\0\0", &count[..], &count, &location, &[0, 0]].concat()].concat()
}

fn saturate(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn gzip_files_and_archives_are_valid() {
        let bytes = gzip(&deflate(b"hello, ", 3));
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello, hello, hello, ");
        assert!(gzip(&deflate(&vec![0; 1 << 20], 1024)).len() < 3 << 20);
        let zip = zip(&[("a", deflate(b"x", 1)), ("b", deflate(b"y", 1))]);
        assert!(
            zip.starts_with(b"PK\x03\x04") && zip.windows(4).filter(|w| *w == b"PK\x01\x02").count() == 2
        );
    }
}
