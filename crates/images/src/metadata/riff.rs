//! WebP content in memory: RIFF chunks of a name, a length, data, and a byte of padding after an odd length.

/// Bytes before the first chunk: `RIFF`, a length and `WEBP`.
pub(crate) const HEADER_BYTES: usize = 12;
/// Bytes of an animation frame before its chunks: position, size, duration and flags.
pub(super) const FRAME_HEADER_BYTES: usize = 16;

/// The first frame of an animation.
pub(crate) struct Frame {
    pub(crate) left: u32,
    pub(crate) top: u32,
    /// A WebP file with the image of the frame.
    pub(crate) image: Vec<u8>,
}

/// Returns the chunks of content: name and data.
fn chunks(mut bytes: &[u8]) -> impl Iterator<Item = ([u8; 4], &[u8])> {
    std::iter::from_fn(move || {
        let (name, rest) = bytes.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<4>()?;
        let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
        let data = rest.get(..length)?;
        bytes = rest.get(length + length % 2..).unwrap_or_default();
        Some((*name, data))
    })
}

/// Returns the EXIF data of an image, starting at the TIFF header.
pub(crate) fn exif(image: &[u8]) -> Option<&[u8]> {
    let (_, data) = chunks(image.get(HEADER_BYTES..)?).find(|(name, _)| name == b"EXIF")?;
    // Some writers put the header of JPEG segments first.
    Some(data.strip_prefix(b"Exif\0\0").unwrap_or(data))
}

/// Returns the first frame of an animation.
pub(crate) fn first_frame(image: &[u8]) -> Option<Frame> {
    let (_, data) = chunks(image.get(HEADER_BYTES..)?).find(|(name, _)| name == b"ANMF")?;
    let (header, frame) = data.split_at_checked(FRAME_HEADER_BYTES)?;
    let number = |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], 0]);
    let mut body = b"WEBP".to_vec();
    let has_alpha = chunks(frame).any(|(name, _)| &name == b"ALPH");
    if has_alpha {
        // Width and height are stored less one, as in the frame.
        push_chunk(&mut body, *b"VP8X", &[&[0x10, 0, 0, 0], &header[6..12]].concat());
    }
    for (name, data) in chunks(frame).filter(|(name, _)| matches!(name, b"ALPH" | b"VP8 " | b"VP8L")) {
        push_chunk(&mut body, name, data);
    }
    let mut image = b"RIFF".to_vec();
    image.extend(u32::try_from(body.len()).ok()?.to_le_bytes());
    image.extend(body);
    // Positions are stored halved.
    Some(Frame { left: number(0) * 2, top: number(3) * 2, image })
}

fn push_chunk(body: &mut Vec<u8>, name: [u8; 4], data: &[u8]) {
    body.extend(name);
    body.extend(u32::try_from(data.len()).unwrap_or_default().to_le_bytes());
    body.extend(data);
    body.resize(body.len() + data.len() % 2, 0);
}
