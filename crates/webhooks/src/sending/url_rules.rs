//! The rules on the URLs and the addresses of receivers, against server-side request forgery: webhooks reach public
//! addresses only, not this machine, its network or the metadata services of clouds.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

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

/// IPv4 networks without public addresses: first address and prefix length.
const PRIVATE_NETWORKS: [([u8; 4], u32); 15] = [
    ([0, 0, 0, 0], 8),       // this host
    ([10, 0, 0, 0], 8),      // private
    ([100, 64, 0, 0], 10),   // carrier-grade NAT
    ([127, 0, 0, 0], 8),     // loopback
    ([169, 254, 0, 0], 16),  // link-local, and metadata of clouds
    ([172, 16, 0, 0], 12),   // private
    ([192, 0, 0, 0], 24),    // protocol assignments
    ([192, 0, 2, 0], 24),    // documentation
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([192, 168, 0, 0], 16),  // private
    ([198, 18, 0, 0], 15),   // benchmarks
    ([198, 51, 100, 0], 24), // documentation
    ([203, 0, 113, 0], 24),  // documentation
    ([224, 0, 0, 0], 4),     // multicast
    ([240, 0, 0, 0], 4),     // reserved, broadcast
];

/// Returns whether an address is a global unicast address of the Internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    PRIVATE_NETWORKS
        .iter()
        .all(|(network, bits)| (address.to_bits() ^ u32::from_be_bytes(*network)) >> (32 - bits) != 0)
}

/// Accepts global unicast addresses, except those that embed an IPv4 address. Of these, accepts NAT64 addresses
/// (`64:ff9b::/96`), which networks without IPv4 use, if the embedded address is public.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_v4(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
        }
        // Teredo, benchmarks, ORCHID and documentation; 6to4; documentation.
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x2002, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
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

    #[test]
    fn distinguishes_public_addresses() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.19.255.255",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:8.8.8.8",
            "::8.8.8.8",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:db8::1",
            "2002:a00:1::1",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "223.255.255.255",
            "2606:4700:4700::1111",
            "2a00:1450::1",
            "64:ff9b::8.8.8.8",
            "2001:4860::1",
        ] {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
    }
}
