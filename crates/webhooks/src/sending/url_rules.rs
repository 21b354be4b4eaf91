//! The rules on the URLs of receivers.

use url::{Host, Url};

use super::ssrf::is_public;

/// Why a URL cannot be that of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InvalidUrl {
    /// The scheme is not `https`, nor, where private receivers are allowed, `http`.
    Scheme,
    /// The host is an address of a private network, `localhost`, or a name below it.
    PrivateAddress,
    /// The host is no name of the Internet.
    Name,
}

/// Checks the scheme and the host of a URL. Resolves no names: [`super::Sender`] refuses private addresses of names.
///
/// # Errors
/// The first rule that the URL breaks.
pub fn check_url(url: &Url, allow_private: bool) -> Result<(), InvalidUrl> {
    if url.scheme() != "https" && !(allow_private && url.scheme() == "http") {
        return Err(InvalidUrl::Scheme);
    }
    let is_allowed = match url.host() {
        Some(Host::Ipv4(address)) => allow_private || is_public(address.into()),
        Some(Host::Ipv6(address)) => allow_private || is_public(address.into()),
        Some(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(name);
            if !is_host_name(name) {
                return Err(InvalidUrl::Name);
            }
            allow_private || !(name == "localhost" || name.ends_with(".localhost"))
        }
        None => return Err(InvalidUrl::Name),
    };
    if is_allowed { Ok(()) } else { Err(InvalidUrl::PrivateAddress) }
}

/// Returns true for a name of labels of letters, digits and hyphens inside, in the form that a parsed URL has.
fn is_host_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_https_and_public_hosts_unless_private_ones_are_allowed() {
        for (url, strict, lenient) in [
            ("https://hooks.example/drover", Ok(()), Ok(())),
            ("https://localhost/drover", Err(InvalidUrl::PrivateAddress), Ok(())),
            ("https://LOCALHOST./drover", Err(InvalidUrl::PrivateAddress), Ok(())),
            ("https://a.localhost/", Err(InvalidUrl::PrivateAddress), Ok(())),
            ("https://hooks..example/", Err(InvalidUrl::Name), Err(InvalidUrl::Name)),
            ("https://-hooks.example/", Err(InvalidUrl::Name), Err(InvalidUrl::Name)),
            ("https://hooks.example,other/", Err(InvalidUrl::Name), Err(InvalidUrl::Name)),
            ("https://bücher.example/", Ok(()), Ok(())),
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
