//! Log-in and log-out.

use reqwest::Url;
use serde_json::json;

use crate::args::{Connection, LoginArgs};
use crate::client::Client;
use crate::error::{Failure, stdin};
use crate::http::http;
use crate::oauth::{device_flow, renew};
use crate::output::{self, Output};
use crate::profile::{self, Profile, Proof, Renewal, Secret, Service, Token};
use crate::session::Session;

/// Logs in and stores the profile.
pub async fn login(args: &LoginArgs, connection: &Connection, output: Output) -> Result<(), Failure> {
    let http = http()?;
    let mut profile = Profile::read()?;
    for (stored, given) in profile.urls.iter_mut().zip(connection.urls()) {
        *stored = given.or(stored.take());
    }
    (profile.token, profile.renewal) = (None, None);
    if let Some(issuer) = &args.issuer {
        let client_id = args.client_id.clone().unwrap_or_else(|| "drover-cli".to_owned());
        let (endpoint, granted) = device_flow(&http, issuer, &client_id, &args.scope).await?;
        let proof = granted.refresh_token.map(Proof::RefreshToken);
        profile.renewal = proof.map(|proof| Renewal { endpoint, client_id, proof });
        profile.token = Some(granted.token);
    } else if let Some(client_id) = &args.client_id {
        let client = Client::new(Session::open(connection)?)?;
        let system = client.url(Service::System)?;
        let endpoint = format!("{}/v1/token", system.as_str().trim_end_matches('/'));
        let endpoint =
            Url::parse(&endpoint).map_err(|_| Failure::Usage(format!("{endpoint} is not a URL.")))?;
        let proof = Proof::ClientSecret(client_secret(args)?);
        let mut renewal = Renewal { endpoint, client_id: client_id.clone(), proof };
        profile.token = Some(renew(&http, &mut renewal).await?.token);
        profile.renewal = Some(renewal);
    } else {
        let Some(path) = &connection.token_file else {
            let message = "Say how to log in: --issuer URL, --client-id ID, or --token-file FILE.";
            return Err(Failure::Usage(message.to_owned()));
        };
        let access_token = Secret::read(path, "--token-file")?;
        profile.token = Some(Token { access_token, expires_at: None });
    }
    profile.write()?;
    let path = profile::path()?;
    let stored = json!({"status": "success", "profile": path});
    output.action(&stored, &format!("Logged in. The profile is stored in {}.", path.display()))
}

/// Deletes the profile. Tokens stay valid until they end: the services do not know them one by one.
pub fn logout(output: Output) -> Result<(), Failure> {
    let was_stored = Profile::delete()?;
    let sentence = if was_stored { "Logged out. The profile is deleted." } else { "Nobody was logged in." };
    output.action(&json!({"status": "success", "wasLoggedIn": was_stored}), sentence)
}

fn client_secret(args: &LoginArgs) -> Result<Secret, Failure> {
    let secret = match &args.client_secret_file {
        Some(path) if path.as_os_str() != "-" => Secret::read(path, "--client-secret-file")?,
        _ => {
            output::note("Reading the client secret from standard input.");
            Secret::new(&String::from_utf8_lossy(&stdin()?))
        }
    };
    if secret.reveal().is_empty() {
        return Err(Failure::Usage("The client secret is empty.".to_owned()));
    }
    Ok(secret)
}
