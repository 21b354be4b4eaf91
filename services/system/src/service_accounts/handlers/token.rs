//! `POST /v1/token`

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use common::{ClientAddress, Error, ErrorBody, FormBody, RefusalLog, security_event};
use database::{Id, Timestamp};
use secrecy::ExposeSecret;

use crate::System;
use crate::service_accounts::TokenOutcome;
use crate::service_accounts::model::{AccountRow, StoredSecret};
use crate::service_accounts::store;
use crate::service_accounts::token::{OAuthError, TokenForm, TokenRequest, TokenResponse};

/// Get a token
///
/// Gives a service account a token for ten minutes, by the grant `client_credentials` of RFC 6749, section 4.4. The
/// client authenticates by HTTP Basic, or by `client_id` and `client_secret` in the form. After 60 failures of a client
/// from an address in a minute, further attempts are 429. See docs/api/authentication.md.
#[utoipa::path(operation_id = "create_token", tag = "service accounts",
    request_body(content = TokenForm, content_type = "application/x-www-form-urlencoded"),
    extensions(("x-no-idempotency-key" = json!(true))),
    responses((status = 200, body = TokenResponse,
            example = json!({ "access_token": "eyJhbGciOiJFZERTQSJ9.…", "token_type": "Bearer", "expires_in": 600 })),
        (status = 400, body = OAuthError, description = "The request is invalid (RFC 6749, section 5.2)."),
        (status = 401, body = OAuthError, description = "`invalid_client`: the client is not authenticated."),
        (status = 404, body = ErrorBody, description = "The setting `auth.service_accounts` is off."),
        (status = 429, body = ErrorBody, description = "Too many failures of this client from this address."),
        (status = 500, body = ErrorBody, description = "A defect of the service.")))]
#[post("/token")]
pub(super) async fn create_token(
    request: HttpRequest,
    ClientAddress(address): ClientAddress,
    FormBody(form): FormBody,
    refusals: Data<RefusalLog>,
    system: Data<System>,
) -> Result<HttpResponse, Error> {
    system.issuer.check_enabled()?;
    let client = match TokenRequest::parse(request.headers(), &form) {
        Ok(client) => client,
        Err(error) => {
            TokenOutcome::InvalidRequest.counter().increment(1);
            return Ok(error.response());
        }
    };
    let failures = &system.issuer.failures;
    let limited = |error| {
        TokenOutcome::RateLimited.counter().increment(1);
        error
    };
    failures.check(&client.client_id, address).await.map_err(limited)?;
    let now = Timestamp::now();
    let Some(account) = authenticate(&system, &client, now).await? else {
        failures.record(&client.client_id, address).await.map_err(limited)?;
        TokenOutcome::InvalidClient.counter().increment(1);
        // What is no id could be a secret in the wrong place.
        let account = Id::parse(&client.client_id).map(|id| id.to_string());
        if refusals.admits(address, "client_refused", account.as_deref().unwrap_or_default()) {
            security_event!("client_refused", account, "a client got no token");
        }
        return Ok(OAuthError::INVALID_CLIENT.response());
    };
    let (id, is_due) = (account.id, store::is_use_due(&account, client.secret(), now)?);
    let secret = client.secret().clone();
    let is_first_use = is_due && system.db.write(move |c| store::record_use(c, id, &secret, now)).await?;
    let token = system.issuer.token(&system.db, &account).await?;
    TokenOutcome::Issued.counter().increment(1);
    let failures_before = failures.end(&client.client_id, address).await;
    // Once a minute, and whenever it is remarkable.
    if is_due || failures_before > 0 {
        security_event!("token_issued", account = %id, is_first_use, failures_before, "a client got a token");
    }
    Ok(TokenResponse::of(token))
}

/// Returns the account that the client is, unless its secret is wrong or it is expired.
async fn authenticate(
    system: &System,
    client: &TokenRequest,
    now: Timestamp,
) -> Result<Option<AccountRow>, Error> {
    let Some(id) = Id::parse(&client.client_id) else { return Ok(None) };
    let Some(account) = system.db.read(move |c| store::find_row(c, id)).await? else { return Ok(None) };
    let matches = |secret: &StoredSecret| secret.matches(client.secret().expose_secret(), now);
    let is_valid = account.secrets()?.iter().any(matches) && !account.is_expired(now);
    Ok(is_valid.then_some(account))
}
