//! The keys of signed links and of the tokens of service accounts. They are random, made at the first start, kept in
//! the database, which replicas share, and replaced by `secrets` of `POST /v1/cache`.

mod store;

pub(crate) use store::{
    MAX_LINK_SECONDS, SigningKey, create_first_key, find_key, list_keys, replace_key, signing_key,
};
