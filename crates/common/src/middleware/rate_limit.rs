//! How many requests one address may make to the operations that need no caller (contract, section 1, "Rate limits").

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::dev::ServiceRequest;
use actix_web::http::header::HeaderMap;
use anyhow::Context;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota};
use ipnet::IpNet;
use metrics::Counter;

use crate::Error;
use crate::config::Server;
use crate::telemetry::metrics::rate_limited;

/// Addresses that have been quiet are forgotten this often.
const CLEANUP_INTERVAL: Duration = Duration::from_secs(60);

/// The limiter, if one is configured, and whose word on a client's address is believed.
pub(crate) struct RateLimiter {
    limiter: Option<DefaultKeyedRateLimiter<IpAddr>>,
    proxies: Vec<IpNet>,
    clock: DefaultClock,
    refused: Counter,
}

impl RateLimiter {
    pub(crate) fn open(server: &Server) -> anyhow::Result<Self> {
        let limiter = NonZeroU32::new(server.rate_per_second).map(|rate| {
            let burst = NonZeroU32::new(server.rate_burst).unwrap_or(rate);
            DefaultKeyedRateLimiter::keyed(Quota::per_second(rate).allow_burst(burst))
        });
        let proxies = server.trusted_proxies.iter().map(|text| {
            let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            network.with_context(|| {
                format!(
                    "server.trusted_proxies (DROVER_SERVER__TRUSTED_PROXIES) has \"{text}\", which is neither an address \
                     nor a network: write each as 10.0.0.1 or 10.0.0.0/8"
                )
            })
        });
        let proxies = proxies.collect::<Result<_, _>>()?;
        Ok(Self { limiter, proxies, clock: DefaultClock::default(), refused: rate_limited() })
    }

    /// 429 for a request too many.
    pub(crate) fn admit(&self, request: &ServiceRequest) -> Result<(), Error> {
        let Some((limiter, peer)) = self.limiter.as_ref().zip(request.peer_addr()) else { return Ok(()) };
        limiter.check_key(&group(self.client(peer.ip(), request.headers()))).map_err(|until| {
            self.refused.increment(1);
            let wait = until.wait_time_from(self.clock.now());
            Error::RateLimited(wait.as_secs() + 1)
        })
    }

    /// The client by what proxies say. They mostly write one header and pass the other on as the client wrote it, so
    /// where both are there and disagree neither is believed.
    fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        let named = [("x-forwarded-for", address as fn(&str) -> _), ("forwarded", element)]
            .into_iter()
            .filter(|(name, _)| headers.contains_key(*name))
            .map(|(name, read)| self.walk(peer, &hops(headers, name, read)));
        named.reduce(|one, other| if one == other { one } else { peer }).unwrap_or(peer)
    }

    /// The last address that a trusted proxy names and that is no trusted proxy itself: what stands before it was
    /// written by the client.
    fn walk(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            if !self.proxies.iter().any(|network| network.contains(&client)) {
                break;
            }
            // `unknown`, or a name that hides one: the proxy that says so is all there is to go by.
            let Some(hop) = hop else { break };
            client = *hop;
        }
        client
    }

    /// Forgets addresses that have been quiet, for as long as the service runs.
    pub(crate) async fn remove_idle(&self) {
        loop {
            tokio::time::sleep(CLEANUP_INTERVAL).await;
            if let Some(limiter) = &self.limiter {
                limiter.retain_recent();
            }
        }
    }
}

/// Addresses on the way here, the client's first. What is not ASCII may be the client's, before what proxies added.
fn hops(headers: &HeaderMap, name: &str, read: fn(&str) -> Option<IpAddr>) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all(name).map(|line| String::from_utf8_lossy(line.as_bytes()));
    lines.flat_map(|line| line.split(',').map(read).collect::<Vec<_>>()).collect()
}

/// Of `Forwarded` (RFC 7239): `for=192.0.2.1;proto=https`
fn element(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| name.eq_ignore_ascii_case("for")).and_then(|(_, value)| address(value))
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1`, `"[2001:db8::1]:80"`
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare =
        text.strip_prefix('[').and_then(|rest| rest.split_once(']')).map_or(text, |(address, _)| address);
    let ip = bare.parse::<IpAddr>().ok().or_else(|| bare.parse().ok().map(|a: std::net::SocketAddr| a.ip()));
    ip.map(|ip| ip.to_canonical())
}

/// What counts as one client: a subscriber has a whole /64 of IPv6 addresses.
fn group(ip: IpAddr) -> IpAddr {
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

    fn rates(trusted: &[&str]) -> RateLimiter {
        let trusted_proxies = trusted.iter().map(ToString::to_string).collect();
        RateLimiter::open(&Server { rate_per_second: 1, rate_burst: 2, trusted_proxies, ..Server::default() })
            .unwrap()
    }

    #[test]
    fn only_proxies_are_believed() {
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
            let found = rates(trusted).client("10.0.0.1".parse().unwrap(), request.headers());
            assert_eq!(found, client.parse::<IpAddr>().unwrap(), "{trusted:?} {name}: {value}");
        }
    }

    #[test]
    fn clients_cannot_choose_their_address() {
        let request = |name: &'static str, value: &[u8]| {
            let value = actix_web::http::header::HeaderValue::from_bytes(value).unwrap();
            TestRequest::default().insert_header((name, value))
        };
        let client = |request: TestRequest| {
            let client =
                rates(&["10.0.0.1"]).client("10.0.0.1".parse().unwrap(), request.to_http_request().headers());
            client.to_string()
        };
        assert_eq!(client(request("x-forwarded-for", b"\xff, 198.51.100.7")), "198.51.100.7");
        let two = |forwarded| request("x-forwarded-for", b"1.1.1.1").insert_header(("forwarded", forwarded));
        assert_eq!(client(two("for=198.51.100.7")), "10.0.0.1", "one of them is the client's");
        assert_eq!(client(two("for=1.1.1.1")), "1.1.1.1");
    }

    proptest! {
        #[test]
        fn any_header_names_somebody(
            name in prop::sample::select(vec!["forwarded", "x-forwarded-for"]), bytes in prop::collection::vec(any::<u8>(), 0..60),
            text in "((for|FOR|by)=)?\"?\\[?[0-9a-f.:]{0,20}\\]?(:[0-9]{0,6})?\"?[;, ]{0,2}[ -~]{0,9}",
        ) {
            let peer: IpAddr = "10.0.0.1".parse().unwrap();
            for value in [bytes, text.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&value) else { continue };
                let request = TestRequest::default().insert_header((name, value)).to_http_request();
                let client = rates(&["10.0.0.0/8"]).client(peer, request.headers());
                prop_assert_eq!(client, client.to_canonical());
                prop_assert_eq!(rates(&[]).client(peer, request.headers()), peer);
            }
        }
    }

    #[test]
    fn a_burst_and_then_no_more() {
        let rates = rates(&[]);
        let from = |ip: &str| {
            let request =
                TestRequest::default().peer_addr(format!("{ip}:1").parse().unwrap()).to_srv_request();
            rates.admit(&request)
        };
        assert!(from("192.0.2.1").is_ok() && from("192.0.2.1").is_ok());
        assert!(matches!(from("192.0.2.1"), Err(Error::RateLimited(1))));
        assert!(from("192.0.2.2").is_ok(), "another address");
        assert!(
            from("[2001:db8::1]").is_ok() && from("[2001:db8::2]").is_ok() && from("[2001:db8::3]").is_err()
        );
    }

    #[test]
    fn a_wrong_proxy_is_named() {
        let server = Server { trusted_proxies: vec!["proxy.local".into()], ..Server::default() };
        assert!(RateLimiter::open(&server).err().unwrap().to_string().contains("proxy.local"));
    }
}
