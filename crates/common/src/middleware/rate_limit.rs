//! Rate limits per client address for the operations without authorization (`docs/api/browsers.md`, "Rate limits").

use std::future::{Ready, ready};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::dev::{Payload, ServiceRequest};
use actix_web::http::header::HeaderMap;
use actix_web::web::Data;
use actix_web::{FromRequest, HttpRequest};
use anyhow::Context;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use ipnet::IpNet;
use metrics::Counter;

use crate::Error;
use crate::config::Server;
use crate::telemetry::metrics::rate_limited_requests;

/// How often idle addresses are removed.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// Limits the requests of each client address, if a limit is configured.
pub(crate) struct RateLimiter {
    limiter: Option<DefaultKeyedRateLimiter<IpAddr>>,
    trusted_proxies: Vec<IpNet>,
    clock: DefaultClock,
    refused: Counter,
}

impl RateLimiter {
    /// Creates the limiter from section `server` of the configuration.
    ///
    /// # Errors
    /// Fails if an entry of `server.trusted_proxies` is neither an address nor a network.
    pub(crate) fn open(server: &Server) -> anyhow::Result<Self> {
        let limiter = NonZeroU32::new(server.rate_per_second).map(|rate| {
            let burst = NonZeroU32::new(server.rate_burst).unwrap_or(rate);
            DefaultKeyedRateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        let trusted_proxies = server.trusted_proxies.iter().map(|text| {
            let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            network.with_context(|| {
                format!(
                    "server.trusted_proxies (DROVER_SERVER__TRUSTED_PROXIES) has \"{text}\", which is neither an address \
                     nor a network: write each as 10.0.0.1 or 10.0.0.0/8"
                )
            })
        });
        let trusted_proxies = trusted_proxies.collect::<Result<_, _>>()?;
        let refused = rate_limited_requests();
        Ok(Self { limiter, trusted_proxies, clock: DefaultClock::default(), refused })
    }

    /// Counts the request.
    ///
    /// # Errors
    /// Returns 429 with the seconds to wait if the client has exceeded its limit.
    pub(crate) fn check(&self, request: &ServiceRequest) -> Result<(), Error> {
        let Some((limiter, peer)) = self.limiter.as_ref().zip(request.peer_addr()) else { return Ok(()) };
        let client = self.client_address(peer.ip(), request.headers());
        limiter.check_key(&limited_address(client)).map_err(|until| {
            self.refused.increment(1);
            let wait = until.wait_time_from(self.clock.now());
            Error::RateLimited(wait.as_secs() + 1)
        })
    }

    /// Returns the client's address according to `Forwarded` or `X-Forwarded-For` of trusted proxies. Most proxies
    /// write only one of the two headers and pass the other on as the client sent it. So if both are present and
    /// disagree, neither is used.
    fn client_address(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        let parsers = [("x-forwarded-for", parse_address as fn(&str) -> _), ("forwarded", parse_element)];
        parsers
            .into_iter()
            .filter(|(name, _)| headers.contains_key(*name))
            .map(|(name, parse)| self.last_untrusted(peer, &hops(headers, name, parse)))
            .reduce(|one, other| if one == other { one } else { peer })
            .unwrap_or(peer)
    }

    /// Returns the last address that a trusted proxy names and that is not itself a trusted proxy. The addresses before
    /// it were written by the client.
    fn last_untrusted(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            if !self.trusted_proxies.iter().any(|network| network.contains(&client)) {
                break;
            }
            // `unknown` or an obfuscated name: the proxy that wrote it is the last known address.
            let Some(hop) = hop else { break };
            client = *hop;
        }
        client
    }

    /// Removes idle addresses while the service runs.
    pub(crate) async fn run_cleanup(&self) {
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            if let Some(limiter) = &self.limiter {
                limiter.retain_recent();
            }
        }
    }
}

/// The address of the client that limits count: behind trusted proxies the one that they name, of IPv6 the /64 network.
/// `None` without a connection, as in tests.
pub struct ClientAddress(pub Option<IpAddr>);

impl FromRequest for ClientAddress {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self::of(request)))
    }
}

impl ClientAddress {
    /// Returns the address of the client that sent a request.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let limiter = request.app_data::<Data<RateLimiter>>().zip(request.peer_addr());
        Self(
            limiter
                .map(|(limiter, peer)| limited_address(limiter.client_address(peer.ip(), request.headers()))),
        )
    }
}

/// Returns the addresses of a forwarding header, the client's first; `None` for elements without an address. Clients
/// may send bytes that are not ASCII in front of the elements that proxies add.
fn hops(headers: &HeaderMap, name: &str, parse: fn(&str) -> Option<IpAddr>) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(name).map(|line| String::from_utf8_lossy(line.as_bytes()));
    lines.flat_map(|line| line.split(',').map(parse).collect::<Vec<_>>()).collect()
}

/// Parses an element of `Forwarded` (RFC 7239), such as `for=192.0.2.1;proto=https`.
fn parse_element(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| name.eq_ignore_ascii_case("for")).and_then(|(_, value)| parse_address(value))
}

/// Parses `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `"[2001:db8::1]:80"`.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare =
        text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(text, |(address, _)| address);
    let ip = bare.parse::<IpAddr>().ok().or_else(|| bare.parse::<SocketAddr>().ok().map(|a| a.ip()))?;
    Some(ip.to_canonical())
}

/// Returns the address that the limit applies to: for IPv6 the /64 network, which belongs to one subscriber.
fn limited_address(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(_) => ip,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;
    use proptest::prelude::*;

    use super::*;

    fn limiter(trusted: &[&str]) -> RateLimiter {
        let trusted_proxies = trusted.iter().map(ToString::to_string).collect();
        RateLimiter::open(&Server { rate_per_second: 1, rate_burst: 2, trusted_proxies, ..Server::default() })
            .unwrap()
    }

    #[test]
    fn only_trusted_proxies_set_the_address() {
        let cases: [(&[&str], &str, &str, &str); 8] = [
            (&[], "x-forwarded-for", "198.51.100.7", "10.0.0.1"),
            (&["10.0.0.0/8"], "x-forwarded-for", "198.51.100.7", "198.51.100.7"),
            (&["10.0.0.1"], "x-forwarded-for", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
            (&["10.0.0.0/8"], "x-forwarded-for", "198.51.100.7, 10.0.0.2", "198.51.100.7"),
            (&["10.0.0.0/8"], "x-forwarded-for", "unknown", "10.0.0.1"),
            (&["10.0.0.0/8"], "forwarded", "for=198.51.100.7;proto=https, For=10.9.9.9", "198.51.100.7"),
            (&["10.0.0.0/8"], "forwarded", "for=\"[2001:db8::1]:443\"", "2001:db8::1"),
            (&["10.0.0.0/8"], "x-forwarded-for", "198.51.100.7:1234", "198.51.100.7"),
        ];
        for (trusted, name, value, client) in cases {
            let request = TestRequest::default().insert_header((name, value)).to_http_request();
            let address = limiter(trusted).client_address("10.0.0.1".parse().unwrap(), request.headers());
            assert_eq!(address, client.parse::<IpAddr>().unwrap(), "{trusted:?} {name}: {value}");
        }
    }

    #[test]
    fn clients_cannot_choose_their_address() {
        let request = |name: &'static str, value: &[u8]| {
            let value = actix_web::http::header::HeaderValue::from_bytes(value).unwrap();
            TestRequest::default().insert_header((name, value))
        };
        let client = |request: TestRequest| {
            let client = limiter(&["10.0.0.1"])
                .client_address("10.0.0.1".parse().unwrap(), request.to_http_request().headers());
            client.to_string()
        };
        assert_eq!(client(request("x-forwarded-for", b"\xff, 198.51.100.7")), "198.51.100.7");
        let two = |forwarded| request("x-forwarded-for", b"1.1.1.1").insert_header(("forwarded", forwarded));
        assert_eq!(
            client(two("for=198.51.100.7")),
            "10.0.0.1",
            "one of the two headers was written by the client"
        );
        assert_eq!(client(two("for=1.1.1.1")), "1.1.1.1");
    }

    proptest! {
        #[test]
        fn any_header_yields_a_canonical_address(
            name in prop::sample::select(vec!["forwarded", "x-forwarded-for"]), bytes in prop::collection::vec(any::<u8>(), 0..60),
            text in "((for|FOR|by)=)?\"?\\[?[0-9a-f.:]{0,20}\\]?(:[0-9]{0,6})?\"?[;, ]{0,2}[ -~]{0,9}",
        ) {
            let peer: IpAddr = "10.0.0.1".parse().unwrap();
            for value in [bytes, text.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&value) else { continue };
                let request = TestRequest::default().insert_header((name, value)).to_http_request();
                let client = limiter(&["10.0.0.0/8"]).client_address(peer, request.headers());
                prop_assert_eq!(client, client.to_canonical());
                prop_assert_eq!(limiter(&[]).client_address(peer, request.headers()), peer);
            }
        }
    }

    #[test]
    fn requests_beyond_the_burst_are_refused() {
        let limiter = limiter(&[]);
        let from = |ip: &str| {
            let request =
                TestRequest::default().peer_addr(format!("{ip}:1").parse().unwrap()).to_srv_request();
            limiter.check(&request)
        };
        assert!(from("192.0.2.1").is_ok() && from("192.0.2.1").is_ok());
        assert!(matches!(from("192.0.2.1"), Err(Error::RateLimited(1))));
        assert!(from("192.0.2.2").is_ok(), "another address");
        assert!(
            from("[2001:db8::1]").is_ok() && from("[2001:db8::2]").is_ok() && from("[2001:db8::3]").is_err()
        );
    }

    #[test]
    fn an_invalid_proxy_is_named_in_the_error() {
        let server = Server { trusted_proxies: vec!["proxy.local".into()], ..Server::default() };
        assert!(RateLimiter::open(&server).err().unwrap().to_string().contains("proxy.local"));
    }
}
