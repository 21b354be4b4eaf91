//! EXIF data. Reads the orientation, and removes personal data in place.

mod orientation;
mod personal;
#[cfg(test)]
mod tests;
mod tiff;

pub(crate) use orientation::{Orientation, minimal, orientation};
use tiff::Tiff;

/// What removing personal data from EXIF data results in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cleaned {
    /// There is none.
    Unchanged,
    /// The EXIF data without it, of the same length.
    Changed(Vec<u8>),
    /// The data cannot be read, so it may contain some.
    Unreadable,
}

/// Removes all entries but those that are [known to be harmless](personal), such as positions, comments, and smaller
/// copies of the image, and erases every byte that belongs to none of the others.
pub(crate) fn cleaned(bytes: &[u8]) -> Cleaned {
    clean(bytes, true)
}

/// As [`cleaned`], for EXIF data whose end is not known. Bytes that no removed entry refers to stay.
pub(crate) fn cleaned_without_end(bytes: &[u8]) -> Cleaned {
    clean(bytes, false)
}

fn clean(bytes: &[u8], has_end: bool) -> Cleaned {
    let Some(tiff) = Tiff::new(bytes) else { return Cleaned::Unreadable };
    let Some(mut personal) = personal::find(tiff) else { return Cleaned::Unreadable };
    if has_end {
        personal.add_rest(bytes.len());
    }
    let mut changed = bytes.to_vec();
    if personal.erase(tiff, &mut changed).is_none() {
        return Cleaned::Unreadable;
    }
    if changed == bytes {
        return Cleaned::Unchanged;
    }
    let is_clean = Tiff::new(&changed).and_then(personal::find).is_some_and(|rest| rest.is_empty());
    // Data whose directories overlap may be damaged by the removal.
    if is_clean && orientation(&changed) == orientation(bytes) {
        Cleaned::Changed(changed)
    } else {
        Cleaned::Unreadable
    }
}
