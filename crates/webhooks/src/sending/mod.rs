//! Requests to receivers: the rules on their URLs, signatures, and the HTTP client.

mod sender;
mod sign;
mod url_rules;

pub use sender::{Message, SendError, Sender};
pub use sign::SigningKeys;
pub(crate) use sign::generate_secret;
pub use url_rules::{InvalidUrl, check_url};
