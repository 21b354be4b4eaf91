//! Verifying a bearer token.

use std::sync::Arc;

use actix_web::http::header::{self, HeaderMap};
use anyhow::bail;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header, errors::ErrorKind, get_current_timestamp};
use serde_json::{Map, Value};

use super::keys::{KeySet, Source};
use super::strict::{UniqueMembers, check_header, is_duplicate};
use super::token_cache::{Identity, TokenCache, VerifiedToken, digest};
use super::{AuthError, Caller, Organisation};
use crate::config::{Auth, Claims};
use crate::middleware::context::RequestContext;
use crate::wire::{normalize_line, without_invisible};

/// Checks tokens against the configured keys, issuer and audience.
pub struct Verifier {
    keys: KeySet,
    /// What a token must meet, by the algorithm of its key.
    validations: [Validation; 3],
    leeway: u64,
    claims: Claims,
    kept: TokenCache,
}

impl Verifier {
    /// Reads the keys.
    ///
    /// # Errors
    /// A sentence that says which setting is missing, or which file cannot be read.
    pub async fn open(config: &Auth) -> anyhow::Result<Self> {
        let source = match (&config.jwks_file, &config.jwks_url) {
            (Some(path), None) => Source::File(path.clone()),
            (None, Some(url)) => Source::url(url)?,
            (Some(_), Some(_)) => bail!("set auth.jwks_file or auth.jwks_url, not both"),
            (None, None) => bail!(
                "no verification keys: set auth.jwks_url (DROVER_AUTH__JWKS_URL) to the JWKS address of your identity \
                 provider, or auth.jwks_file (DROVER_AUTH__JWKS_FILE) to a JWKS file"
            ),
        };
        let (Some(issuer), Some(audience)) = (&config.issuer, &config.audience) else {
            bail!(
                "set auth.issuer (DROVER_AUTH__ISSUER) and auth.audience (DROVER_AUTH__AUDIENCE): tokens for others \
                 must not pass"
            );
        };
        let validation = |algorithm| {
            let mut validation = Validation::new(algorithm);
            validation.leeway = config.leeway_seconds;
            validation.validate_nbf = true;
            // Not `sub`: the configuration may call it otherwise.
            validation.set_required_spec_claims(&["exp", "iss", "aud"]);
            validation.set_issuer(&[issuer]);
            validation.set_audience(&[audience]);
            validation
        };
        Ok(Self {
            keys: KeySet::open(source).await?,
            validations: [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA].map(validation),
            leeway: config.leeway_seconds,
            claims: config.claims.clone(),
            kept: TokenCache::default(),
        })
    }

    /// Reads the keys again, whatever the time since the last.
    ///
    /// # Errors
    /// The source cannot be read; the keys at hand stay in use.
    pub async fn reload(&self) -> anyhow::Result<()> {
        self.keys.reload().await
    }

    /// The caller that the `Authorization` header proves.
    pub(crate) async fn authenticate(
        &self,
        headers: &HeaderMap,
        request: RequestContext,
    ) -> Result<Caller, AuthError> {
        let mut values = headers.get_all(header::AUTHORIZATION);
        let Some(value) = values.next() else { return Err(AuthError::NoToken) };
        if values.next().is_some() {
            return Err(AuthError::BadToken("there are several Authorization headers"));
        }
        let token = value
            .to_str()
            .ok()
            .and_then(|v| v.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim())
            .ok_or(AuthError::BadToken("the scheme must be Bearer"))?;
        let person = self.verify(token).await?.person.clone();
        Ok(Caller {
            user_id: person.id,
            user_name: person.name,
            organisation: person.organisation,
            admin: person.admin,
            token: token.into(),
            request,
        })
    }

    /// What a token proves, by its signature or because that was verified before.
    async fn verify(&self, token: &str) -> Result<Arc<VerifiedToken>, AuthError> {
        let digest = digest(token);
        let kept = self.kept.find(&digest);
        let kid = if let Some(good) = &kept {
            good.kid.clone()
        } else {
            check_header(token)?;
            decode_header(token).map_err(|_| AuthError::BadToken("the token cannot be read"))?.kid
        };
        let Some(key) = self.keys.find(kid.as_deref()).await else {
            return Err(if self.keys.is_empty() {
                AuthError::NoKeys
            } else {
                AuthError::BadToken("the key is unknown")
            });
        };
        if let Some(good) = kept.filter(|good| good.holds(&key, get_current_timestamp(), self.leeway)) {
            return Ok(good);
        }
        let validation = self.validations.iter().find(|v| v.algorithms == [key.algorithm]);
        let validation = validation.ok_or(AuthError::BadToken("the key is of another algorithm"))?;
        let decoded = decode::<UniqueMembers>(token, &key.decoding, validation).map_err(|e| {
            AuthError::BadToken(match e.kind() {
                ErrorKind::ExpiredSignature => "the token has expired",
                ErrorKind::ImmatureSignature => "the token is not valid yet",
                ErrorKind::InvalidAudience => "the token is for another audience",
                ErrorKind::InvalidIssuer => "the token is from another issuer",
                ErrorKind::MissingRequiredClaim(_) => "the token lacks a claim",
                ErrorKind::InvalidAlgorithm => "the token uses another algorithm than its key",
                ErrorKind::InvalidClaimFormat(_) => "a claim has the wrong type",
                ErrorKind::Json(error) if is_duplicate(error) => "the token names a claim twice",
                ErrorKind::Json(_) => "the claims cannot be read",
                _ => "the signature is wrong",
            })
        })?;
        let claims = decoded.claims.0;
        // The library takes an array that contains the issuer too: RFC 7519, 4.1.1, has one issuer.
        if !claims.get("iss").is_some_and(Value::is_string) {
            return Err(AuthError::BadToken("the issuer is not a string"));
        }
        let (begins, ends) = (claims.get("nbf"), claims.get("exp").and_then(Value::as_u64));
        let good = Arc::new(VerifiedToken {
            kid,
            key,
            // Times that are no whole seconds make it good this once.
            begins: begins.map_or(0, |begins| begins.as_u64().unwrap_or(u64::MAX)),
            ends: ends.unwrap_or(0),
            person: person(&claims, &self.claims)?,
        });
        self.kept.keep(digest, good.clone());
        Ok(good)
    }
}

fn person(claims: &Map<String, Value>, names: &Claims) -> Result<Identity, AuthError> {
    let texts = [&names.sub, &names.name, &names.org, &names.org_name]
        .map(|name| claims.get(name).and_then(Value::as_str));
    if texts.iter().flatten().any(|text| text.chars().count() > 200 || text.chars().any(char::is_control)) {
        return Err(AuthError::BadToken("a claim is longer than 200 characters or has control characters"));
    }
    // Ids are compared as they are: two that differ for the identity provider must not become one here.
    let text = |name: &str| Some(claims.get(name)?.as_str()?).filter(|text| !text.trim().is_empty());
    // Names are shown to others: what could disguise them is left out.
    let shown = |name: &str| {
        let visible = without_invisible(text(name)?);
        let line = normalize_line(&visible);
        (!line.is_empty()).then(|| line.into_owned())
    };
    let id = text(&names.sub).ok_or(AuthError::BadToken("the token names nobody"))?.to_owned();
    let organisation =
        text(&names.org).map(|id| Organisation { id: id.to_owned(), name: shown(&names.org_name) });
    let roles = claims.get(&names.roles).and_then(Value::as_array);
    Ok(Identity {
        name: shown(&names.name).or_else(|| shown(&names.sub)).unwrap_or_else(|| id.clone()),
        id,
        organisation,
        admin: roles.is_some_and(|roles| roles.iter().any(|role| role == "admin")),
    })
}
