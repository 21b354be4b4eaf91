//! Log-in by development tokens: a page of people to choose from. For demonstrations only.

use anyhow::Context;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;

use crate::session::Session;

/// Somebody to be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DemoPerson {
    pub(crate) id: &'static str,
    pub(crate) name: &'static str,
    pub(crate) organisation_id: &'static str,
    pub(crate) organisation_name: &'static str,
    pub(crate) role: Option<&'static str>,
    /// What the person does, as one sentence.
    pub(crate) about: &'static str,
}

const fn person([id, name, organisation_id, organisation_name, about]: [&'static str; 5]) -> DemoPerson {
    DemoPerson { id, name, organisation_id, organisation_name, role: None, about }
}

/// People of the sample market of `cargo xtask up --demo`.
pub(crate) const PEOPLE: [DemoPerson; 9] = [
    person([
        "owen",
        "Owen",
        "border-grain",
        "Border Grain Merchants",
        "Sells grain and orders the lorries for it.",
    ]),
    person(["ruth", "Ruth", "hereford-haulage", "Hereford Haulage", "Plans the lorries of a haulier."]),
    person(["len", "Len", "dales-bulk", "Dales Bulk Transport", "Plans the lorries of another haulier."]),
    person(["dai", "Dai", "dai-evans", "Dai Evans Transport", "Drives his own lorry."]),
    person(["driver-megan", "Megan", "", "", "Drives for others, and belongs to no organisation."]),
    person(["carys", "Carys", "penybont-farm", "Penybont Farm", "Farms, sells livestock and orders feed."]),
    person(["tom", "Tom", "wye-valley-farm", "Wye Valley Farm", "Farms, and buys livestock."]),
    person(["silas", "Silas", "somewhere-else", "Somewhere Else Ltd", "Is a party of nothing here."]),
    DemoPerson {
        role: Some("admin"),
        ..person(["anna", "Anna", "drover", "Drover", "Runs the marketplace and sees everything."])
    },
];

/// The key of development tokens.
pub(crate) struct DevelopmentKey {
    key: EncodingKey,
    algorithm: Algorithm,
    issuer: String,
    audience: String,
    session_seconds: u64,
}

impl DevelopmentKey {
    /// Reads the key.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn new(
        pem: &SecretString,
        issuer: &str,
        audience: &str,
        session_hours: u64,
    ) -> anyhow::Result<Self> {
        let pem = pem.expose_secret().as_bytes();
        let ed25519 = EncodingKey::from_ed_pem(pem).map(|key| (key, Algorithm::EdDSA));
        let key = ed25519.or_else(|_| EncodingKey::from_rsa_pem(pem).map(|key| (key, Algorithm::RS256)));
        let (key, algorithm) = key.context(
            "service.development_key (DROVER_SERVICE__DEVELOPMENT_KEY_FILE) must be an Ed25519 or RSA key as PEM, such as \
             auth/dev-ed25519.pem in the data folder of `cargo xtask up`",
        )?;
        let (issuer, audience) = (issuer.to_owned(), audience.to_owned());
        Ok(Self { key, algorithm, issuer, audience, session_seconds: session_hours * 3600 })
    }

    /// Returns the session of a person.
    ///
    /// # Errors
    /// The token cannot be signed.
    pub(crate) fn session(&self, person: &DemoPerson, now: u64) -> anyhow::Result<Session> {
        let ends_at = now + self.session_seconds;
        let mut claims = json!({
            "iss": self.issuer, "aud": self.audience, "sub": person.id, "name": person.name, "iat": now, "exp": ends_at,
        });
        if !person.organisation_id.is_empty() {
            claims["org"] = json!(person.organisation_id);
            claims["orgName"] = json!(person.organisation_name);
        }
        claims["roles"] = json!(person.role.into_iter().collect::<Vec<_>>());
        let access_token = jsonwebtoken::encode(&Header::new(self.algorithm), &claims, &self.key)?;
        Ok(Session { access_token, refresh_token: None, id_token: None, expires_at: ends_at, ends_at })
    }
}
