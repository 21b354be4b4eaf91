//! A request to the token endpoint (RFC 6749, section 4.4), and its responses (sections 5.1 and 5.2).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{self, HeaderMap};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::form_urlencoded;
use utoipa::ToSchema;

use super::issuer::TOKEN_SECONDS;

/// The request for a token. A client that authenticates by HTTP Basic sends neither id nor secret here.
#[derive(Deserialize, ToSchema)]
#[schema(example = json!({
    "grant_type": "client_credentials",
    "client_id": crate::examples::SERVICE_ACCOUNT,
    "client_secret": "drover_sa_4lJ2kW1mC0xqkQYx8u0X0q5Jt3cI9bZgq6v7m2nP1sE",
}))]
#[expect(dead_code, reason = "describes the form, which is read by name")]
pub(super) struct TokenForm {
    /// The grant.
    grant_type: GrantType,
    /// The client id of the service account.
    #[schema(nullable = false)]
    client_id: Option<String>,
    /// The client secret.
    #[schema(nullable = false)]
    client_secret: Option<String>,
}

/// The grants that the token endpoint knows.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum GrantType {
    ClientCredentials,
}

/// A token (RFC 6749, section 5.1).
#[derive(Serialize, ToSchema)]
#[schema(example = json!({ "access_token": "eyJhbGciOiJFZERTQSJ9…", "token_type": "Bearer", "expires_in": 600 }))]
pub(super) struct TokenResponse {
    /// The token, for `Authorization: Bearer`.
    access_token: String,
    /// Always `Bearer`.
    #[schema(value_type = String)]
    token_type: &'static str,
    /// How long the token is valid, in seconds.
    expires_in: i64,
}

impl TokenResponse {
    /// Returns the response with this token.
    pub(super) fn of(access_token: String) -> HttpResponse {
        let body = Self { access_token, token_type: "Bearer", expires_in: TOKEN_SECONDS };
        uncached(StatusCode::OK, &body)
    }
}

/// Why there is no token (RFC 6749, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum OAuthErrorCode {
    /// A parameter is missing or repeated, or the client authenticates in two ways.
    InvalidRequest,
    /// The client is unknown, deleted or expired, or its secret is wrong.
    InvalidClient,
    /// There are no scopes.
    InvalidScope,
    /// The grant is not `client_credentials`.
    UnsupportedGrantType,
}

/// The error of a request for a token.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct OAuthError {
    /// For a program.
    error: OAuthErrorCode,
    /// One sentence for a person.
    #[schema(value_type = String)]
    error_description: &'static str,
}

impl OAuthError {
    /// The client is not authenticated, whatever the reason is.
    pub(super) const INVALID_CLIENT: Self = Self {
        error: OAuthErrorCode::InvalidClient,
        error_description: "The client id or the client secret is wrong, or the account is expired or deleted.",
    };

    fn invalid_request(error_description: &'static str) -> Self {
        Self { error: OAuthErrorCode::InvalidRequest, error_description }
    }

    /// Returns the response.
    pub(super) fn response(&self) -> HttpResponse {
        if self.error != OAuthErrorCode::InvalidClient {
            return uncached(StatusCode::BAD_REQUEST, self);
        }
        let mut response = uncached(StatusCode::UNAUTHORIZED, self);
        let challenge = header::HeaderValue::from_static("Basic realm=\"drover\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
        response
    }
}

/// Returns a response that no cache keeps.
fn uncached(status: StatusCode, body: &impl Serialize) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((header::CACHE_CONTROL, "no-store"))
        .insert_header((header::PRAGMA, "no-cache"))
        .json(body)
}

/// A valid request for a token, with what the client claims to be.
#[derive(Debug)]
pub(super) struct TokenRequest {
    pub(super) client_id: String,
    client_secret: SecretString,
}

impl TokenRequest {
    /// Reads the parameters and the credentials of a client. Parameters without a value are absent, and unknown ones
    /// ignored (RFC 6749, section 3.2).
    pub(super) fn parse(headers: &HeaderMap, form: &[(String, String)]) -> Result<Self, OAuthError> {
        for (i, (name, _)) in form.iter().enumerate() {
            if form[..i].iter().any(|(earlier, _)| earlier == name) {
                return Err(OAuthError::invalid_request("A parameter is repeated."));
            }
        }
        let find = |name: &str| {
            let found = form.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
            found.filter(|value| !value.is_empty())
        };
        match find("grant_type") {
            Some("client_credentials") => {}
            Some(_) => {
                return Err(OAuthError {
                    error: OAuthErrorCode::UnsupportedGrantType,
                    error_description: "The grant_type must be client_credentials.",
                });
            }
            None => return Err(OAuthError::invalid_request("The parameter grant_type is missing.")),
        }
        if find("scope").is_some() {
            return Err(OAuthError {
                error: OAuthErrorCode::InvalidScope,
                error_description: "There are no scopes: leave the parameter scope out.",
            });
        }
        let (id, secret) = (find("client_id"), find("client_secret"));
        match (basic(headers)?, id, secret) {
            (Some(basic), None, None) => Ok(basic),
            // Some clients repeat their id.
            (Some(basic), Some(id), None) if basic.client_id == id => Ok(basic),
            (Some(_), ..) => Err(OAuthError::invalid_request(
                "The client must authenticate by HTTP Basic or by parameters, not both.",
            )),
            (None, Some(id), Some(secret)) => {
                Ok(Self { client_id: id.to_owned(), client_secret: secret.into() })
            }
            (None, ..) => Err(OAuthError::INVALID_CLIENT),
        }
    }

    /// Returns the secret.
    pub(super) fn secret(&self) -> &SecretString {
        &self.client_secret
    }
}

/// Returns the credentials in the header `Authorization` (RFC 6749, section 2.3.1), if there are any. Other schemes do
/// not authenticate a client.
fn basic(headers: &HeaderMap) -> Result<Option<TokenRequest>, OAuthError> {
    let mut values = headers.get_all(header::AUTHORIZATION);
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(OAuthError::invalid_request("The header Authorization is repeated."));
    }
    let parts = value.to_str().ok().and_then(|value| value.split_once(' '));
    let Some((_, encoded)) = parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic")) else {
        return Ok(None);
    };
    let decoded = STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let (id, secret) =
        decoded.as_deref().and_then(|pair| pair.split_once(':')).ok_or(OAuthError::INVALID_CLIENT)?;
    // Both are encoded as in a form.
    let decode = |text: &str| {
        form_urlencoded::parse(text.as_bytes()).next().map(|(name, _)| name.into_owned()).unwrap_or_default()
    };
    Ok(Some(TokenRequest { client_id: decode(id), client_secret: decode(secret).into() }))
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use secrecy::ExposeSecret;

    use super::*;

    fn parse(authorization: Option<&str>, form: &str) -> Result<(String, String), OAuthErrorCode> {
        let value = authorization.map(|value| (header::AUTHORIZATION, HeaderValue::from_str(value).unwrap()));
        let form: Vec<_> = form_urlencoded::parse(form.as_bytes()).into_owned().collect();
        let request =
            TokenRequest::parse(&HeaderMap::from_iter(value), &form).map_err(|error| error.error)?;
        Ok((request.client_id.clone(), request.secret().expose_secret().to_owned()))
    }

    fn basic(pair: &str) -> String {
        format!("Basic {}", STANDARD.encode(pair))
    }

    #[test]
    fn clients_authenticate_in_one_way() {
        use OAuthErrorCode::{InvalidClient, InvalidRequest, InvalidScope, UnsupportedGrantType};
        const GRANT: &str = "grant_type=client_credentials";
        let found = |id: &str, secret: &str| Ok((id.to_owned(), secret.to_owned()));
        let both = format!("{GRANT}&client_id=a&client_secret=b");
        for (authorization, form, expected) in [
            (Some(basic("a:b")), GRANT.to_owned(), found("a", "b")),
            (Some(basic("a%3Ab:c+d%26")), GRANT.to_owned(), found("a:b", "c d&")),
            (Some(basic("a:b").replace("Basic", "bASIC")), GRANT.to_owned(), found("a", "b")),
            (Some(basic("a:b")), format!("{GRANT}&client_id=a"), found("a", "b")),
            (Some(basic("a:b")), format!("{GRANT}&client_id=c"), Err(InvalidRequest)),
            (Some(basic("a:b")), both.clone(), Err(InvalidRequest)),
            (None, both.clone(), found("a", "b")),
            (Some("Bearer x".into()), both.clone(), found("a", "b")),
            (None, format!("{both}&audience=x&unknown="), found("a", "b")),
            (None, format!("{both}&scope="), found("a", "b")),
            (None, format!("{both}&scope=all"), Err(InvalidScope)),
            (None, format!("{both}&client_id=a"), Err(InvalidRequest)),
            (None, GRANT.to_owned(), Err(InvalidClient)),
            (None, format!("{GRANT}&client_id=a"), Err(InvalidClient)),
            (None, format!("{GRANT}&client_id=a&client_secret="), Err(InvalidClient)),
            (Some("Basic x".into()), GRANT.to_owned(), Err(InvalidClient)),
            (Some(basic("a")), GRANT.to_owned(), Err(InvalidClient)),
            (None, String::new(), Err(InvalidRequest)),
            (None, "client_id=a&client_secret=b".into(), Err(InvalidRequest)),
            (None, both.replace("client_credentials", "password"), Err(UnsupportedGrantType)),
        ] {
            assert_eq!(parse(authorization.as_deref(), &form), expected, "{authorization:?} {form}");
        }
    }
}
