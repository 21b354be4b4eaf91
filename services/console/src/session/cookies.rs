//! Cookies: those of a request, and the headers that set and remove them. A long value is split over several.

use actix_web::HttpRequest;
use actix_web::http::header;

/// The longest part of a value. Browsers store cookies of 4,096 bytes, with name and attributes.
const MAX_PART_BYTES: usize = 3800;
/// The most bytes of a value: proxies accept lines of 8 KiB in the head of a request.
pub(crate) const MAX_VALUE_BYTES: usize = 7300;

/// How the console's cookies are named and sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CookieStyle {
    /// Whether browsers use `https`. Without it, they accept neither `Secure` nor the prefix `__Host-`.
    pub(crate) is_secure: bool,
}

impl CookieStyle {
    /// Returns the full name of a cookie.
    pub(crate) fn name(self, name: &str) -> String {
        format!("{}drover-{name}", if self.is_secure { "__Host-" } else { "" })
    }

    /// Returns the header that sets a cookie for these seconds. No seconds remove it.
    pub(crate) fn set(self, name: &str, value: &str, seconds: u64) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}", self.name(name))
    }

    /// Returns the headers that set a value, split if it is long. Removes the parts of an earlier, longer value.
    pub(crate) fn set_split(self, name: &str, value: &str, seconds: u64, cookies: &Cookies) -> Vec<String> {
        let parts = split(value);
        let stale = (parts.len()..).map(|index| format!("{name}-{index}"));
        let stale = stale.take_while(|part| cookies.get(&self.name(part)).is_some());
        let set = parts.iter().enumerate().map(|(n, part)| self.set(&format!("{name}-{n}"), part, seconds));
        set.chain(stale.map(|part| self.set(&part, "", 0))).collect()
    }

    /// Returns a value that [`set_split`](Self::set_split) set.
    pub(crate) fn joined(self, name: &str, cookies: &Cookies) -> Option<String> {
        join(|index| cookies.get(&self.name(&format!("{name}-{index}"))).map(str::to_owned))
    }

    /// Returns the names without prefix of the cookies whose names begin with a text.
    pub(crate) fn beginning_with(self, start: &str, cookies: &Cookies) -> Vec<String> {
        let prefix = self.name("");
        let names = cookies.0.iter().filter_map(|(name, _)| name.strip_prefix(&prefix));
        names.filter(|name| name.starts_with(start)).map(str::to_owned).collect()
    }
}

/// Splits a value. The first part begins with the number of parts, so that a part of an older value is not mistaken for
/// one of this.
fn split(value: &str) -> Vec<String> {
    let count = value.len().div_ceil(MAX_PART_BYTES).max(1);
    let mut rest = value;
    (0..count)
        .map(|index| {
            let (part, after) = rest.split_at_checked(MAX_PART_BYTES).unwrap_or((rest, ""));
            rest = after;
            if index == 0 { format!("{count}.{part}") } else { part.to_owned() }
        })
        .collect()
}

fn join(part: impl Fn(usize) -> Option<String>) -> Option<String> {
    let first = part(0)?;
    let (count, first) = first.split_once('.')?;
    let count: usize = count.parse().ok().filter(|count| (1..=4).contains(count))?;
    (1..count).try_fold(first.to_owned(), |joined, index| Some(joined + &part(index)?))
}

/// The cookies of a request.
#[derive(Debug, Default)]
pub(crate) struct Cookies(Vec<(String, String)>);

impl Cookies {
    /// Reads the headers of a request.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let lines = request.headers().get_all(header::COOKIE).filter_map(|line| line.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        Self(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
    }

    /// Returns the value of a cookie.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_values_are_split_and_joined() {
        for (length, count) in
            [(0, 1), (1, 1), (MAX_PART_BYTES, 1), (MAX_PART_BYTES + 1, 2), (MAX_VALUE_BYTES, 2)]
        {
            let value = "x".repeat(length);
            let parts = split(&value);
            assert_eq!(parts.len(), count, "{length}");
            assert!(parts.iter().all(|part| part.len() < 3850));
            assert_eq!(join(|index| parts.get(index).cloned()).as_ref(), Some(&value));
            // A part of an older value follows.
            assert_eq!(join(|index| parts.get(index).cloned().or_else(|| Some("old".into()))), Some(value));
        }
        for first in ["", "2.a", "0.a", "-1.a", "9.a", "a"] {
            assert_eq!(join(|index| (index == 0).then(|| first.to_owned())), None, "{first}");
        }
    }

    #[test]
    fn the_prefix_needs_https() {
        let [plain, secure] =
            [false, true].map(|is_secure| CookieStyle { is_secure }.set("session-0", "x", 5));
        assert_eq!(plain, "drover-session-0=x; Path=/; Max-Age=5; HttpOnly; SameSite=Lax");
        assert_eq!(secure, format!("__Host-{plain}; Secure"));
    }

    #[test]
    fn a_shorter_value_removes_what_is_left_of_a_longer_one() {
        let cookies = Cookies(vec![
            ("drover-session-0".into(), "2.a".into()),
            ("drover-session-1".into(), "b".into()),
            ("drover-other".into(), "c".into()),
        ]);
        let style = CookieStyle { is_secure: false };
        assert_eq!(style.joined("session", &cookies).unwrap(), "ab");
        let set = style.set_split("session", "x", 5, &cookies);
        assert_eq!(set.len(), 2);
        assert!(set[1].starts_with("drover-session-1=; ") && set[1].contains("Max-Age=0"), "{set:?}");
        assert_eq!(style.beginning_with("session-", &cookies), ["session-0", "session-1"]);
    }
}
