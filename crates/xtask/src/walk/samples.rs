//! The files that are uploaded, part of the program.

/// A file to upload.
pub struct Sample {
    /// File name.
    pub file: &'static str,
    /// What a person calls it.
    pub title: &'static str,
    /// Media type, found from the content by the service too.
    pub media_type: &'static str,
    /// The bytes.
    pub content: &'static [u8],
}

/// The ticket as the weighbridge printed it.
pub const TICKET: Sample = Sample {
    file: "weighbridge-ticket.jpg",
    title: "Weighbridge ticket",
    media_type: "image/jpeg",
    content: include_bytes!("../../samples/weighbridge-ticket.jpg"),
};

/// The same ticket, signed by the receiver.
pub const SIGNED_TICKET: Sample = Sample {
    file: "signed-ticket.jpg",
    title: "Signed ticket",
    media_type: "image/jpeg",
    content: include_bytes!("../../samples/signed-ticket.jpg"),
};

/// A contract of sale.
pub const CONTRACT: Sample = Sample {
    file: "contract.pdf",
    title: "Contract",
    media_type: "application/pdf",
    content: include_bytes!("../../samples/contract.pdf"),
};

/// Heifers at grass.
pub const HEIFERS: Sample = Sample {
    file: "heifers.jpg",
    title: "Heifers at grass",
    media_type: "image/jpeg",
    content: include_bytes!("../../samples/heifers.jpg"),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_small_and_what_they_say() {
        for sample in [TICKET, SIGNED_TICKET, CONTRACT, HEIFERS] {
            assert!(sample.content.len() < 40_000, "{}", sample.file);
            let magic: &[u8] = if sample.media_type == "image/jpeg" { b"\xff\xd8\xff" } else { b"%PDF-" };
            assert!(sample.content.starts_with(magic), "{}", sample.file);
        }
    }
}
