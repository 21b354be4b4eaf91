//! Who made a link. Each download checks that they may still read the file.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::Caller;
use sha2::{Digest, Sha256};

use crate::files::model::File;

/// Bytes of the hash that stands for a tenant.
const TAG_BYTES: usize = 12;
const ADMIN: &str = "admin-";
const EVERYBODY: &str = "everybody";

/// Who made a link, as the link states it. A link shows the hash of a tenant, because whoever gets it need not know the
/// ids of its maker.
#[derive(Clone, Debug)]
pub(in crate::files) struct Maker(pub(super) String);

impl Maker {
    /// Returns the maker of the links of a caller.
    pub(in crate::files) fn of(caller: &Caller) -> Self {
        let tag = tag(&caller.tenant());
        Self(if caller.admin { format!("{ADMIN}{tag}") } else { tag })
    }

    /// Returns the maker of links to images that are shared with everybody.
    pub(in crate::files) fn everybody() -> Self {
        Self(EVERYBODY.to_owned())
    }

    /// Returns true if the maker may read the file. `admin` may read all files, and the role is not checked again.
    pub(in crate::files) fn may_read(&self, file: &File) -> bool {
        if self.0.starts_with(ADMIN) {
            return true;
        }
        if self.0 == EVERYBODY {
            return file.organisations.includes_everybody();
        }
        file.is_public() || file.readers().any(|tenant| tag(&tenant) == self.0)
    }

    /// Returns what stands for the tenant whose limits a download counts against: that of the maker.
    pub(in crate::files) fn tenant(&self) -> Option<&str> {
        (self.0 != EVERYBODY).then(|| self.0.strip_prefix(ADMIN).unwrap_or(&self.0))
    }
}

/// Returns what stands for a [tenant](Caller::tenant) in links, and in the limits on smaller images.
pub(in crate::files) fn tag(tenant: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(format!("drover tenant {tenant}"))[..TAG_BYTES])
}
