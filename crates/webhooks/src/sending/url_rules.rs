//! The rules on the URLs of receivers.

use url::{Host, Url};

use super::ssrf::is_public;

/// Why a URL cannot be that of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidUrl {
    /// The scheme is not `https`, nor, where private receivers are allowed, `http`.
    Scheme,
    /// The host is an address of a private network.
    PrivateAddress,
}

/// Checks the scheme and the host of a URL. Resolves no names: [`super::Sender`] refuses private addresses of names.
///
/// # Errors
/// The first rule that the URL breaks.
pub fn check_url(url: &Url, allow_private: bool) -> Result<(), InvalidUrl> {
    if url.scheme() != "https" && !(allow_private && url.scheme() == "http") {
        return Err(InvalidUrl::Scheme);
    }
    let literal = match url.host() {
        Some(Host::Ipv4(address)) => Some(address.into()),
        Some(Host::Ipv6(address)) => Some(address.into()),
        _ => None,
    };
    if allow_private || literal.is_none_or(is_public) { Ok(()) } else { Err(InvalidUrl::PrivateAddress) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_https_and_public_hosts_unless_private_ones_are_allowed() {
        for (url, strict, lenient) in [
            ("https://hooks.example/drover", Ok(()), Ok(())),
            ("https://localhost/drover", Ok(()), Ok(())),
            ("https://8.8.8.8/", Ok(()), Ok(())),
            ("http://hooks.example/", Err(InvalidUrl::Scheme), Ok(())),
            ("ftp://hooks.example/", Err(InvalidUrl::Scheme), Err(InvalidUrl::Scheme)),
            ("https://127.1/", Err(InvalidUrl::PrivateAddress), Ok(())),
            ("https://2130706433/", Err(InvalidUrl::PrivateAddress), Ok(())),
            ("https://[::ffff:10.0.0.1]/", Err(InvalidUrl::PrivateAddress), Ok(())),
        ] {
            let url: Url = url.parse().unwrap();
            assert_eq!((check_url(&url, false), check_url(&url, true)), (strict, lenient), "{url}");
        }
    }
}
