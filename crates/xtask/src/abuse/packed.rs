//! Little that unpacks to much: gzip and ZIP, written without their content ever being there.

use flate2::{Compress, Compression, Crc, FlushCompress};

/// An empty block that is the last.
const END: [u8; 2] = [3, 0];

/// What is packed, and its checksum.
pub struct Deflated {
    /// A raw deflate stream.
    pub bytes: Vec<u8>,
    crc: Crc,
}

impl Deflated {
    /// This, and then that.
    pub fn and(mut self, mut other: Self) -> Self {
        self.bytes.truncate(self.bytes.len() - END.len());
        self.bytes.append(&mut other.bytes);
        self.crc.combine(&other.crc);
        self
    }
}

/// So many times the same piece.
pub fn deflated(piece: &[u8], times: usize) -> Deflated {
    let room = piece.len() / 8 + (64 << 10);
    let (mut compress, mut one) = (Compress::new(Compression::best(), false), Vec::with_capacity(room));
    // Whole blocks that refer to nothing before them may follow one another; an empty last one ends them.
    let _ = compress.compress_vec(piece, &mut one, FlushCompress::Full);
    let mut first = Crc::new();
    first.update(piece);
    let mut all = Crc::new();
    (0..times).for_each(|_| all.combine(&first));
    Deflated { bytes: [one.repeat(times), END.into()].concat(), crc: all }
}

/// As a gzip file (RFC 1952).
pub fn gzip(content: &Deflated) -> Vec<u8> {
    let tail = [content.crc.sum().to_le_bytes(), content.crc.amount().to_le_bytes()].concat();
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], content.bytes.as_slice(), &tail].concat()
}

/// As a ZIP archive (APPNOTE.TXT, 4.3).
pub fn zip(parts: &[(&str, Deflated)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, part) in parts {
        let offset = low(archive.len());
        let sizes = [part.crc.sum(), low(part.bytes.len()), part.crc.amount()].map(u32::to_le_bytes).concat();
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes();
        let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &sizes, &length, &[0, 0]].concat();
        archive.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &part.bytes].concat());
        let place = [&[0; 10][..], &offset.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0", common.as_slice(), &place, name.as_bytes()].concat());
    }
    let count = u16::try_from(parts.len()).unwrap_or(u16::MAX).to_le_bytes();
    let place = [low(directory.len()), low(archive.len())].map(u32::to_le_bytes).concat();
    [archive, directory, [b"PK\x05\x06\0\0\0\0", &count[..], &count, &place, &[0, 0]].concat()].concat()
}

fn low(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn what_was_packed_is_unpacked() {
        let bytes = gzip(&deflated(b"hello, ", 3));
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello, hello, hello, ");
        assert!(gzip(&deflated(&vec![0; 1 << 20], 1024)).len() < 3 << 20);
        let zip = zip(&[("a", deflated(b"x", 1)), ("b", deflated(b"y", 1))]);
        assert!(
            zip.starts_with(b"PK\x03\x04") && zip.windows(4).filter(|w| *w == b"PK\x01\x02").count() == 2
        );
    }
}
