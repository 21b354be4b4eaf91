//! Webhook secrets that differ between replicas: a signature identifies the replica that sent a webhook.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use stack::http_listener::ReceivedRequest;

/// Returns the webhook secret of a replica.
pub fn secret(replica: usize) -> String {
    format!("whsec_{}", STANDARD.encode(key(replica)))
}

fn key(replica: usize) -> [u8; 32] {
    Sha256::digest(format!("replica {replica}")).into()
}

/// Returns the replica that signed a webhook (Standard Webhooks).
pub fn sender(webhook: &ReceivedRequest, replicas: usize) -> Option<usize> {
    let head = format!("{}.{}.", webhook.header("webhook-id"), webhook.header("webhook-timestamp"));
    let signature = webhook.header("webhook-signature").strip_prefix("v1,")?;
    let signature = STANDARD.decode(signature).ok()?;
    (0..replicas).find(|replica| {
        let Ok(mac) = Hmac::<Sha256>::new_from_slice(&key(*replica)) else { return false };
        mac.chain_update(&head).chain_update(&webhook.body).verify_slice(&signature).is_ok()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_signature_identifies_the_sender() {
        let mac = Hmac::<Sha256>::new_from_slice(&key(1)).unwrap().chain_update(b"i.5.{}");
        let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
        let headers = [("webhook-id", "i"), ("webhook-timestamp", "5"), ("webhook-signature", &signature)];
        let headers: BTreeMap<_, _> =
            headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let mut webhook = ReceivedRequest { headers, body: b"{}".to_vec(), ..ReceivedRequest::default() };
        assert_eq!(sender(&webhook, 3), Some(1));
        webhook.body = b"[]".to_vec();
        assert_eq!(sender(&webhook, 3), None);
    }
}
