//! The names of the keys in Redis. Keys begin with the prefix of the deployment.
//!
//! One server has the entries `<prefix>entry:<key>` and the counter of clears `<prefix>epoch`.
//!
//! In a cluster, a command can use an entry together with the epoch only if both are in one slot. So the entries are
//! divided into shards, each with an epoch of its own. The keys of shard 17 are `<prefix>{17}:entry:<key>` and
//! `<prefix>{17}:epoch`. Redis determines the slot of a key by the text in braces, so shards are spread over the nodes.
//!
//! The generation of secrets is `<prefix>secrets:generation` in both.

use anyhow::{Result, ensure};
use sha2::{Digest, Sha256};

use crate::config::setting;

/// Number of shards in a cluster. A clear increments the epoch of each.
const CLUSTER_SHARDS: Shard = 64;

/// The names of the keys of a deployment.
pub(super) struct Keys {
    prefix: String,
    /// Number of shards, or `None` on one server.
    shards: Option<Shard>,
}

/// The number of a shard. On one server, all entries are in shard 0.
pub(super) type Shard = u8;

impl Keys {
    /// Returns the names of the keys of a deployment.
    ///
    /// # Errors
    /// Fails if the prefix cannot be used in a cluster.
    pub(super) fn new(prefix: &str, is_cluster: bool) -> Result<Self> {
        // Redis ignores empty braces, and then also the braces of the shard after them.
        let is_empty_tag = |open: usize| prefix[open..].starts_with("{}");
        ensure!(
            !is_cluster || !prefix.find('{').is_some_and(is_empty_tag),
            "{} contains `{{}}`: remove it, because Redis Cluster distributes keys by the text in braces",
            setting("cache_prefix")
        );
        Ok(Self { prefix: prefix.to_owned(), shards: is_cluster.then_some(CLUSTER_SHARDS) })
    }

    /// Returns the shard of the entry with this key.
    pub(super) fn shard(&self, key: &str) -> Shard {
        // All replicas and all versions of the program must agree.
        self.shards.map_or(0, |shards| Sha256::digest(key)[0] % shards)
    }

    /// Returns all shards.
    pub(super) fn shards(&self) -> Vec<Shard> {
        (0..self.shards.unwrap_or(1)).collect()
    }

    /// Returns the Redis key of the entry with this key.
    pub(super) fn entry(&self, key: &str) -> String {
        format!("{}entry:{key}", self.shard_prefix(self.shard(key)))
    }

    /// Returns the Redis key of the epoch of a shard.
    pub(super) fn epoch(&self, shard: Shard) -> String {
        format!("{}epoch", self.shard_prefix(shard))
    }

    /// Returns the Redis key of the generation of secrets.
    pub(super) fn generation(&self) -> String {
        format!("{}secrets:generation", self.prefix)
    }

    /// Returns the glob pattern of the Redis keys of entries whose keys start with this text. In a cluster, it may
    /// match keys of other applications too.
    pub(super) fn pattern(&self, start: &str) -> Vec<u8> {
        let shard: &[u8] = if self.shards.is_some() { b"{*}:" } else { b"" };
        [&escape_glob(&self.prefix), shard, b"entry:", &escape_glob(start), b"*"].concat()
    }

    /// Returns the key of the entry with this Redis key, and its shard. Returns `None` if it is no entry.
    pub(super) fn parse<'a>(&self, redis_key: &'a [u8]) -> Option<(Shard, &'a [u8])> {
        let rest = redis_key.strip_prefix(self.prefix.as_bytes())?;
        let Some(shards) = self.shards else { return Some((0, rest.strip_prefix(b"entry:")?)) };
        let end = rest.iter().position(|byte| *byte == b'}')?;
        let number = std::str::from_utf8(rest.get(1..end)?).ok()?;
        let shard = number.parse::<Shard>().ok().filter(|shard| *shard < shards)?;
        Some((shard, redis_key.strip_prefix(format!("{}entry:", self.shard_prefix(shard)).as_bytes())?))
    }

    fn shard_prefix(&self, shard: Shard) -> String {
        let prefix = &self.prefix;
        if self.shards.is_some() { format!("{prefix}{{{shard}}}:") } else { prefix.clone() }
    }
}

/// Returns the longest prefix that all of these share. One scan with it finds the keys of all prefixes, and few others.
pub(super) fn common_prefix(prefixes: &[String]) -> &str {
    let Some((first, rest)) = prefixes.split_first() else { return "" };
    let shared_bytes = |other: &String| {
        let shared = first.char_indices().zip(other.chars()).take_while(|((_, a), b)| a == b);
        shared.last().map_or(0, |((start, character), _)| start + character.len_utf8())
    };
    &first[..rest.iter().map(shared_bytes).min().unwrap_or(first.len())]
}

/// Returns a glob pattern that matches exactly this text.
fn escape_glob(text: &str) -> Vec<u8> {
    let escape = |byte: u8| if b"*?[]\\".contains(&byte) { vec![b'\\', byte] } else { vec![byte] };
    text.bytes().flat_map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_server_has_one_shard() {
        let keys = Keys::new("ours:", false).unwrap();
        assert_eq!((keys.entry("a:b"), keys.epoch(0)), ("ours:entry:a:b".into(), "ours:epoch".into()));
        assert_eq!(keys.generation(), "ours:secrets:generation");
        assert_eq!(keys.shards(), [0]);
        assert_eq!(keys.pattern("a*"), b"ours:entry:a\\**");
        assert_eq!(keys.parse(b"ours:entry:a:b"), Some((0, &b"a:b"[..])));
        assert_eq!(keys.parse(b"ours:epoch"), None);
        assert_eq!(keys.parse(b"theirs:entry:a:b"), None);
    }

    #[test]
    fn an_entry_and_its_epoch_have_the_same_tag_in_a_cluster() {
        let keys = Keys::new("ours:", true).unwrap();
        assert_eq!(keys.shards().len(), 64);
        let mut found = std::collections::BTreeSet::new();
        for key in (0..2000).map(|n| format!("a:{n}")) {
            let shard = keys.shard(&key);
            found.insert(shard);
            assert_eq!(keys.entry(&key), format!("ours:{{{shard}}}:entry:{key}"));
            assert_eq!(keys.epoch(shard), format!("ours:{{{shard}}}:epoch"));
            assert_eq!(keys.parse(keys.entry(&key).as_bytes()), Some((shard, key.as_bytes())));
        }
        assert_eq!(found.len(), 64);
        assert_eq!(keys.generation(), "ours:secrets:generation");
        assert_eq!(keys.pattern("a:"), b"ours:{*}:entry:a:*");
        for foreign in
            ["ours:{64}:entry:a", "ours:{01}:entry:a", "ours:{x}:entry:a", "ours:{1}:epoch", "ours:1"]
        {
            assert_eq!(keys.parse(foreign.as_bytes()), None, "{foreign}");
        }
    }

    /// Another placement would lose all entries with an upgrade.
    #[test]
    fn shards_do_not_change() {
        let keys = Keys::new("ours:", true).unwrap();
        assert_eq!(["", "a", "location:words:a.b.c"].map(|key| keys.shard(key)), [35, 10, 14]);
    }

    #[test]
    fn empty_braces_are_refused_in_a_cluster() {
        for prefix in ["ours:{}:", "{}"] {
            let error = Keys::new(prefix, true).err().unwrap().to_string();
            assert!(error.contains("service.cache_prefix"), "{error}");
            Keys::new(prefix, false).unwrap();
        }
        for prefix in ["{ours}:", "ours:{x}{}", "}{x"] {
            Keys::new(prefix, true).unwrap();
        }
    }

    #[test]
    fn common_prefix_ends_at_a_character_boundary() {
        let shared = |prefixes: &[&str]| {
            let prefixes: Vec<_> = prefixes.iter().map(ToString::to_string).collect();
            common_prefix(&prefixes).to_owned()
        };
        assert_eq!(shared(&["location:a", "location:b", "location:"]), "location:");
        assert_eq!(shared(&["aé", "aè"]), "a");
        assert_eq!(shared(&["éa", "éb"]), "é");
        assert_eq!(shared(&["a"]), "a");
        assert_eq!(shared(&["a", "b"]), "");
        assert_eq!(shared(&[]), "");
    }
}
