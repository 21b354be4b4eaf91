//! Connecting to PostgreSQL, with error messages for the operator.

use diesel::{Connection, ConnectionError, PgConnection};

use crate::url::add_parameter;
use crate::{DatabaseUrl, Error};

/// Connects to PostgreSQL with a timeout of 5 s, or of 2 s for each of several hosts. Sends no statement yet.
///
/// A dead network is detected after 10 s while data is being sent, and after 45 s while a reply is awaited.
pub(crate) fn connect(url: &str) -> Result<PgConnection, Error> {
    let target = DatabaseUrl::Postgres(url.into());
    let hosts = target.hosts();
    PgConnection::establish(&with_defaults(url, hosts.len())).map_err(|error| {
        let reason = error.to_string().replace('\n', " ");
        match error {
            // A pooler has accepted the connection, and then has none to the server.
            ConnectionError::CouldntSetupConfiguration(_) => setup_error(&target, &reason),
            _ => connect_error(&target, &hosts, &reason),
        }
    })
}

/// Converts libpq's reason, which has a part for each host that failed.
fn connect_error(target: &DatabaseUrl, hosts: &[String], reason: &str) -> Error {
    let unresolved = unresolved_hosts(reason);
    // If the URL is not percent-encoded, libpq's host may be a part of the password.
    let is_garbled = unresolved.iter().any(|host| !hosts.iter().any(|known| known == host));
    if is_garbled || (!unresolved.is_empty() && unresolved.len() >= hosts.len()) {
        let hosts = match &unresolved[..] {
            _ if is_garbled => "host (which needs percent-encoding)".to_owned(),
            [host] => format!("host {host}"),
            hosts => format!("hosts {}", hosts.join(", ")),
        };
        return Error::Setup(format!(
            "the {hosts} of database.url (DROVER_DATABASE__URL) cannot be resolved: name a host that this machine \
             knows, as in postgres://USER:PASSWORD@HOST:5432/NAME"
        ));
    }
    // libpq's other messages quote parts of a URL that it cannot parse, which may be parts of the password.
    let is_safe = ["connection to server", "query parameter"].iter().any(|part| reason.contains(part));
    let reason = if is_safe { reason.trim() } else { "it cannot be parsed; is everything percent-encoded?" };
    setup_error(target, reason)
}

fn setup_error(target: &DatabaseUrl, reason: &str) -> Error {
    Error::Setup(format!(
        "cannot open the database {target}: {reason}: check database.url (DROVER_DATABASE__URL)"
    ))
}

/// Returns the hosts that libpq could not resolve, according to its reason.
fn unresolved_hosts(reason: &str) -> Vec<&str> {
    let rests = reason.split("could not translate host name \"").skip(1);
    rests.filter_map(|rest| Some(rest.split_once('"')?.0)).collect()
}

/// Adds parameters that the URL does not have.
fn with_defaults(url: &str, hosts: usize) -> String {
    let mut url = url.to_owned();
    let mut add = |name, value| add_parameter(&mut url, name, value);
    add("tcp_user_timeout", "10000");
    add("keepalives_idle", "30");
    add("keepalives_interval", "5");
    add("keepalives_count", "3");
    if hosts > 1 {
        // A host that does not respond must leave time for the others, because a call waits only `database.wait_ms`.
        add("connect_timeout", "2");
        // The services write. Otherwise libpq connects to the first host that responds, perhaps a standby.
        add("target_session_attrs", "read-write");
    } else {
        add("connect_timeout", "5");
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_hosts_have_short_timeouts_and_must_accept_writes() {
        let one = with_defaults("postgres://h/d", 1);
        assert!(one.starts_with("postgres://h/d?tcp_user_timeout=10000&"), "{one}");
        assert!(one.ends_with("&connect_timeout=5"), "{one}");
        let two = with_defaults("postgres://h,i/d?connect_timeout=9", 2);
        assert!(two.starts_with("postgres://h,i/d?connect_timeout=9&tcp_user_timeout"), "{two}");
        assert!(two.ends_with("&target_session_attrs=read-write"), "{two}");
        let any = with_defaults("postgres://h,i/d?target_session_attrs=any", 2);
        assert_eq!(any.matches("target_session_attrs").count(), 1);
    }

    /// Returns the message for a URL and libpq's reason.
    fn message(url: &str, reason: &str) -> String {
        let url = DatabaseUrl::parse(url).unwrap();
        connect_error(&url, &url.hosts(), reason).to_string()
    }

    #[test]
    fn reasons_of_several_hosts_hide_the_password() {
        let unknown = |host| format!("could not translate host name \"{host}\" to address: unknown ");
        let refused = "connection to server at \"b\", port 5432 failed: Connection refused";
        let url = "postgres://u:p@a:5432,b:5432/d";
        let one = message(url, &(unknown("a") + refused));
        assert!(one.contains("postgres://u:…@a:5432,b:5432/d") && one.contains(refused), "{one}");
        let all = message(url, &(unknown("a") + &unknown("b")));
        assert!(all.starts_with("the hosts a, b of database.url"), "{all}");
        let garbled = message("postgres://u:p@s3cret@a,b/d", &(unknown("s3cret@a") + refused));
        assert!(garbled.contains("percent-encoding") && !garbled.contains("s3cret"), "{garbled}");
    }
}
