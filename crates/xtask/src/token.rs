//! `token`: prints a token for the services that `up` started.

use anyhow::Result;
use stack::keys::{DevKeys, PEM_FILE};
use stack::token::Identity;

use crate::cli::TokenArgs;

/// Prints a token on standard output and nothing else.
pub fn run(args: &TokenArgs) -> Result<()> {
    let keys = DevKeys::load_or_create(&args.data)?;
    if keys.created {
        let path = args.data.join(PEM_FILE);
        eprintln!("made development keys: {} (a service reads new keys when it starts)", path.display());
    }
    let who = Identity {
        user: &args.user,
        name: args.name.as_deref(),
        org: args.org.as_deref(),
        org_name: args.org_name.as_deref(),
        roles: &args.roles,
    };
    println!("{}", who.token(&keys, args.ttl));
    Ok(())
}
