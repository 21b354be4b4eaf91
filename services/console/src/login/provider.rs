//! Log-in at an OpenID Connect provider: authorization code with PKCE, refresh and log-out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use moka::future::Cache;
use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreIdTokenClaims, CoreTokenResponse};
use openidconnect::{
    AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointMaybeSet, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, IssuerUrl, LogoutRequest, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    PkceCodeVerifier, PostLogoutRedirectUrl, ProviderMetadataWithLogout, RedirectUrl, RefreshToken,
    RequestTokenError, Scope, TokenResponse,
};
use parking_lot::RwLock;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use crate::session::Session;

/// Timeout of a call of the provider.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long the metadata and keys of the provider are used before they are read again.
const METADATA_TTL: Duration = Duration::from_secs(300);
/// How long requests with the previous tokens get the refreshed ones.
const REFRESHED_TTL: Duration = Duration::from_secs(60);
const MAX_REFRESHED: u64 = 10_000;
/// The lifetime of an access token whose response names none.
const DEFAULT_LIFETIME: Duration = Duration::from_secs(300);
/// How long an access token is used at most.
const MAX_LIFETIME: Duration = Duration::from_secs(900);

type Client = CoreClient<
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;

/// The provider, and the console's client there.
pub(crate) struct Provider {
    issuer: IssuerUrl,
    /// The URL that replaces the issuer in requests of the console. Has no slash at the end.
    internal_url: Option<String>,
    client_id: String,
    client_secret: Option<SecretString>,
    scopes: Vec<String>,
    audience: Option<String>,
    redirect_url: RedirectUrl,
    logged_out_url: PostLogoutRedirectUrl,
    session_seconds: u64,
    http: reqwest::Client,
    metadata: RwLock<Option<(Instant, Arc<ProviderMetadataWithLogout>)>>,
    /// Refreshed sessions by the refresh token before. Of several requests one refreshes, and the others wait for it.
    refreshed: Cache<String, Session>,
}

/// An attempt to log in, which the browser keeps until the provider sends it back.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Attempt {
    state: String,
    nonce: String,
    verifier: String,
    /// The path to go back to.
    pub(crate) to: String,
}

impl Attempt {
    /// Returns the value that the provider sends back.
    pub(crate) fn state(&self) -> &str {
        &self.state
    }

    /// Returns true if the provider's answer is for this attempt.
    pub(crate) fn has_state(&self, state: &str) -> bool {
        !state.is_empty() && self.state == state
    }
}

/// The settings of a provider.
pub(crate) struct ProviderOptions<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) internal_url: Option<&'a str>,
    pub(crate) client_id: &'a str,
    pub(crate) client_secret: Option<&'a SecretString>,
    pub(crate) scopes: &'a [String],
    pub(crate) audience: Option<&'a str>,
    pub(crate) public_url: &'a str,
    pub(crate) session_hours: u64,
}

impl Provider {
    /// Creates the client. The provider is called when somebody logs in.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn new(options: &ProviderOptions<'_>) -> anyhow::Result<Self> {
        let url = |path: &str| format!("{}{path}", options.public_url);
        Ok(Self {
            issuer: IssuerUrl::new(options.issuer.to_owned())?,
            internal_url: options.internal_url.map(|url| url.trim_end_matches('/').to_owned()),
            client_id: options.client_id.to_owned(),
            client_secret: options.client_secret.cloned(),
            scopes: options.scopes.to_vec(),
            audience: options.audience.map(str::to_owned),
            redirect_url: RedirectUrl::new(url("/login/callback"))?,
            logged_out_url: PostLogoutRedirectUrl::new(url("/logged-out"))?,
            session_seconds: options.session_hours * 3600,
            http: common::http::client(TIMEOUT)?,
            metadata: RwLock::default(),
            refreshed: Cache::builder().max_capacity(MAX_REFRESHED).time_to_live(REFRESHED_TTL).build(),
        })
    }

    /// Begins an attempt. Returns it, a name for it, and the URL of the provider.
    ///
    /// # Errors
    /// The provider is not reachable.
    pub(crate) async fn begin(&self, to: &str) -> anyhow::Result<(Attempt, Url)> {
        let client = self.client(false).await?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let mut request = client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        // `openid` is added by the library.
        for scope in self.scopes.iter().filter(|scope| *scope != "openid") {
            request = request.add_scope(Scope::new(scope.clone()));
        }
        if let Some(audience) = &self.audience {
            request = request.add_extra_param("audience", audience);
        }
        let (url, state, nonce) = request.set_pkce_challenge(challenge).url();
        let attempt = Attempt {
            state: state.secret().clone(),
            nonce: nonce.secret().clone(),
            verifier: verifier.into_secret(),
            to: to.to_owned(),
        };
        Ok((attempt, url))
    }

    /// Ends an attempt: exchanges the code for tokens, and checks the ID token.
    ///
    /// # Errors
    /// The provider is not reachable, or its answer is wrong.
    pub(crate) async fn end(&self, attempt: &Attempt, code: String, now: u64) -> anyhow::Result<Session> {
        let client = self.client(false).await?;
        let verifier = PkceCodeVerifier::new(attempt.verifier.clone());
        let request = client.exchange_code(AuthorizationCode::new(code))?.set_pkce_verifier(verifier);
        let tokens = request.request_async(&|request| self.send(request)).await;
        let tokens = tokens.context("the provider does not exchange the code")?;
        let nonce = Nonce::new(attempt.nonce.clone());
        if verify(&client, &tokens, &nonce).is_err() {
            // The provider may have new keys.
            verify(&self.client(true).await?, &tokens, &nonce)?;
        }
        Ok(session(&tokens, now, now + self.session_seconds, None))
    }

    /// Returns the refreshed session. Requests that need it at the same time share one call of the provider.
    ///
    /// # Errors
    /// The provider is not reachable, or [`Refused`]: the person is locked, or another replica was first.
    pub(crate) async fn refresh(&self, before: &Session, now: u64) -> anyhow::Result<Session> {
        let token = before.refresh_token.clone().context("there is no refresh token")?;
        let call = async {
            let client = self.client(false).await?;
            let refresh_token = RefreshToken::new(token.clone());
            let request = client.exchange_refresh_token(&refresh_token)?;
            let tokens = request.request_async(&|request| self.send(request)).await;
            let tokens = tokens.map_err(|error| match error {
                RequestTokenError::ServerResponse(reason) => Refused(reason.to_string()).into(),
                error => anyhow::Error::new(error).context("the provider does not refresh"),
            })?;
            Ok::<_, anyhow::Error>(session(&tokens, now, before.ends_at, Some(before)))
        };
        // With a provider that keeps refresh tokens, an earlier result may be too old.
        if self.refreshed.get(&token).await.is_some_and(|known| known.expires_at <= now) {
            self.refreshed.invalidate(&token).await;
        }
        let refreshed = self.refreshed.try_get_with(token.clone(), call).await;
        refreshed.map_err(|error: Arc<anyhow::Error>| match error.downcast_ref::<Refused>() {
            Some(refused) => refused.clone().into(),
            None => anyhow!("{error:#}"),
        })
    }

    /// Returns the URL that ends the person's session at the provider, if it has one.
    pub(crate) async fn log_out_url(&self, session: Option<&Session>) -> Option<Url> {
        let metadata = self.metadata(false).await.ok()?;
        let endpoint = metadata.additional_metadata().end_session_endpoint.clone()?;
        let mut url = LogoutRequest::from(endpoint)
            .set_client_id(ClientId::new(self.client_id.clone()))
            .set_post_logout_redirect_uri(self.logged_out_url.clone())
            .http_get_url();
        // As text: the hint may have expired, and needs no check.
        if let Some(token) = session.and_then(|session| session.id_token.as_ref()) {
            url.query_pairs_mut().append_pair("id_token_hint", token);
        }
        Some(url)
    }

    /// Returns an error unless the metadata of the provider can be read.
    pub(crate) async fn check(&self) -> anyhow::Result<()> {
        self.metadata(true).await.map(drop)
    }

    async fn client(&self, is_fresh: bool) -> anyhow::Result<Client> {
        let metadata = self.metadata(is_fresh).await?;
        let secret =
            self.client_secret.as_ref().map(|secret| ClientSecret::new(secret.expose_secret().into()));
        let client = CoreClient::from_provider_metadata(
            (*metadata).clone(),
            ClientId::new(self.client_id.clone()),
            secret,
        );
        Ok(client.set_redirect_uri(self.redirect_url.clone()))
    }

    /// Returns the metadata and keys. While the provider is away, older ones serve.
    async fn metadata(&self, is_fresh: bool) -> anyhow::Result<Arc<ProviderMetadataWithLogout>> {
        let known = self.metadata.read().clone();
        if let Some((read_at, metadata)) = &known
            && read_at.elapsed() < METADATA_TTL
            && !is_fresh
        {
            return Ok(metadata.clone());
        }
        let send = |request| self.send(request);
        match ProviderMetadataWithLogout::discover_async(self.issuer.clone(), &send).await {
            Ok(metadata) => {
                let metadata = Arc::new(metadata);
                *self.metadata.write() = Some((Instant::now(), metadata.clone()));
                Ok(metadata)
            }
            Err(error) => match known {
                Some((_, metadata)) if !is_fresh => Ok(metadata),
                _ => Err(anyhow::Error::new(error).context("the metadata of the provider cannot be read")),
            },
        }
    }

    /// Returns the URL at the internal address, if the URL begins with the issuer.
    fn internal(&self, url: &Url, base: &str) -> Option<Url> {
        let path = url.as_str().strip_prefix(self.issuer.trim_end_matches('/'))?;
        path.starts_with('/').then(|| format!("{base}{path}").parse().ok())?
    }

    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let mut request: reqwest::Request = request.try_into().map_err(HttpError::Client)?;
        if let Some(url) = self.internal_url.as_deref().and_then(|base| self.internal(request.url(), base)) {
            *request.url_mut() = url;
        }
        let response = self.http.execute(request).await;
        let response = response.map_err(HttpError::Client)?;
        let mut reply = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            reply = reply.header(name, value);
        }
        let body = response.bytes().await.map_err(HttpError::Client)?;
        reply.body(body.to_vec()).map_err(HttpError::Response)
    }
}

/// Returns the session that tokens begin, or continue after `before`.
fn session(tokens: &CoreTokenResponse, now: u64, ends_at: u64, before: Option<&Session>) -> Session {
    let refresh_token = tokens.refresh_token().map(|token| token.secret().clone());
    let refresh_token = refresh_token.or_else(|| before?.refresh_token.clone());
    let id_token = tokens.id_token().map(ToString::to_string);
    Session {
        access_token: tokens.access_token().secret().clone(),
        expires_at: now + lifetime(tokens.expires_in()).as_secs(),
        refresh_token,
        id_token: id_token.or_else(|| before?.id_token.clone()),
        ends_at,
    }
}

/// Returns how long an access token is used whose response names this lifetime. A person who is locked at the provider
/// is out when the token is refreshed or, without a refresh token, when the provider has to log the person in again.
fn lifetime(named: Option<Duration>) -> Duration {
    named.unwrap_or(DEFAULT_LIFETIME).min(MAX_LIFETIME)
}

/// The provider answers that it does not refresh these tokens.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the provider refuses to refresh: {0}")]
pub(crate) struct Refused(String);

/// Why the provider was not reached.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HttpError {
    #[error("{}", .0)]
    Client(reqwest::Error),
    #[error("the response is invalid: {0}")]
    Response(http::Error),
}

/// Checks the signature, the issuer, the audience, the time and the nonce of the ID token.
fn verify(client: &Client, tokens: &CoreTokenResponse, nonce: &Nonce) -> anyhow::Result<()> {
    let token = tokens.id_token().context("the provider sent no ID token: add the scope openid")?;
    let claims: Result<&CoreIdTokenClaims, _> = token.claims(&client.id_token_verifier(), nonce);
    claims.map(drop).context("the ID token is not accepted")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_token_is_used_for_15_minutes_at_most() {
        for (named, used) in [(300, 300), (43_200, 900)] {
            let tokens =
                serde_json::json!({"access_token": "a", "token_type": "bearer", "expires_in": named});
            let session = session(&serde_json::from_value(tokens).unwrap(), 1_000, 50_000, None);
            assert_eq!((session.expires_at, session.refresh_token), (1_000 + used, None), "{named}");
        }
    }
}
