//! Invalid tokens, each with a description of its defect. A service that accepts one takes the caller for an
//! administrator.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ed25519_dalek::SigningKey;
use ed25519_dalek::pkcs8::EncodePublicKey;
use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::user::{ISSUER, KID, User, jwks_file, key, signed, signed_text};

/// Returns pairs of defect and token. `attacker` is a URL that services must never fetch keys from.
pub(crate) fn tokens(attacker: &str) -> Vec<(String, String)> {
    let mut tokens = vec![("nonsense".into(), "nonsense".into()), ("empty".into(), String::new())];
    tokens.extend(claims());
    tokens.extend(duplicates());
    tokens.extend(signatures());
    tokens.extend(without_signature());
    tokens.extend(by_shared_secret());
    tokens.extend(headers(attacker));
    tokens
}

/// Returns the header of valid tokens with these members changed or added.
fn header(members: &Value) -> Value {
    let mut header = json!({"alg": "EdDSA", "typ": "JWT", "kid": KID});
    for (name, value) in members.as_object().expect("an object") {
        header[name] = value.clone();
    }
    header
}

fn admin() -> Value {
    User::admin().claims
}

/// Tokens with a valid signature and invalid claims.
fn claims() -> Vec<(String, String)> {
    let changes = [
        ("exp", json!(1_000_000_000)),
        ("exp", json!("soon")),
        ("exp", json!(null)),
        ("nbf", json!(32_000_000_000_u64)),
        ("aud", json!("somebody-else")),
        ("aud", json!([])),
        ("aud", json!(null)),
        ("iss", json!("somebody-else")),
        ("iss", json!(null)),
        ("iss", json!([ISSUER])),
        ("iss", json!(["somebody-else", ISSUER])),
        ("iss", json!({ "name": ISSUER })),
        ("iss", json!(5)),
        ("sub", json!(null)),
        ("name", json!("a\u{0}b")),
        ("org", json!("x".repeat(201))),
    ];
    let token = |(claim, value): (&str, Value)| {
        let mut claims = admin();
        claims[claim] = value.clone();
        (format!("{claim} {value}"), signed(&header(&json!({})), &claims, key()))
    };
    changes.map(token).into()
}

/// Tokens with a valid signature and a duplicate member, of which the last one is valid.
fn duplicates() -> Vec<(String, String)> {
    let (header, claims) = (header(&json!({})).to_string(), admin().to_string());
    let twice = |text: &str, member: &str| text.replacen('{', &format!("{{{member},"), 1);
    let mut tokens = Vec::new();
    for member in [
        r#""sub":"other""#,
        r#""roles":[]"#,
        r#""iss":"somebody-else""#,
        r#""exp":1"#,
        r#""\u0073ub":"other""#,
    ] {
        tokens.push((format!("claim {member} twice"), signed_text(&header, &twice(&claims, member), key())));
    }
    let unknown = twice(&twice(&claims, r#""x":1"#), r#""x":2"#);
    tokens.push(("an unknown claim twice".into(), signed_text(&header, &unknown, key())));
    let nested = twice(&claims, r#""x":[{"roles":[],"roles":["admin"]}]"#);
    tokens.push(("a member of a nested claim twice".into(), signed_text(&header, &nested, key())));
    for member in [r#""kid":"other""#, r#""alg":"none""#, r#""\u0061lg":"none""#] {
        tokens.push((format!("header {member} twice"), signed_text(&twice(&header, member), &claims, key())));
    }
    let unknown = twice(&twice(&header, r#""x":1"#), r#""x":2"#);
    tokens.push(("an unknown header member twice".into(), signed_text(&unknown, &claims, key())));
    tokens
}

/// Tokens with a missing, foreign or malformed signature.
fn signatures() -> Vec<(String, String)> {
    let good = User::admin().token();
    let (text, signature) = good.rsplit_once('.').expect("a signature");
    let (_, claims) = text.split_once('.').expect("claims");
    let other = User::individual("other").token();
    let other_signature = other.rsplit_once('.').expect("a signature").1;
    let unknown_key = SigningKey::from_bytes(&rand::random());
    vec![
        ("no signature".into(), format!("{text}.")),
        ("two parts only".into(), text.into()),
        ("an empty header".into(), format!("e30.{claims}.{signature}")),
        ("the signature of another token".into(), format!("{text}.{other_signature}")),
        ("the token twice".into(), format!("{good}.{good}")),
        ("another key with the known kid".into(), signed(&header(&json!({})), &admin(), &unknown_key)),
    ]
}

/// Tokens with the algorithm `none`, in several spellings.
fn without_signature() -> Vec<(String, String)> {
    let good = User::admin().token();
    let signature = good.rsplit_once('.').expect("a signature").1;
    let mut tokens = Vec::new();
    for alg in ["none", "None", "NONE", "nOnE", ""] {
        let parts =
            [header(&json!({ "alg": alg })), admin()].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        tokens.push((format!("alg {alg:?}"), format!("{}.", parts.join("."))));
        tokens.push((format!("alg {alg:?}, signed"), format!("{}.{signature}", parts.join("."))));
    }
    tokens
}

/// Tokens with an HMAC whose secret is the public key, in several encodings.
fn by_shared_secret() -> Vec<(String, String)> {
    let public = key().verifying_key();
    let pem = public.to_public_key_pem(LineEnding::LF).expect("a PEM");
    let secrets = [
        ("the key's bytes", public.as_bytes().to_vec()),
        ("the key in base64url", URL_SAFE_NO_PAD.encode(public.as_bytes()).into_bytes()),
        ("the key set's text", std::fs::read(jwks_file()).expect("a key set")),
        ("the key in PEM", pem.clone().into_bytes()),
        ("the key in PEM without its last line end", pem.trim_end().as_bytes().to_vec()),
        ("the key in DER", public.to_public_key_der().expect("a DER").into_vec()),
        ("an empty secret", Vec::new()),
    ];
    let mut tokens = Vec::new();
    for algorithm in [Algorithm::HS256, Algorithm::HS384, Algorithm::HS512] {
        for (encoding, secret) in &secrets {
            let header = Header { kid: Some(KID.into()), ..Header::new(algorithm) };
            let token = jsonwebtoken::encode(&header, &admin(), &EncodingKey::from_secret(secret));
            tokens.push((format!("{algorithm:?} with {encoding}"), token.expect("a token")));
        }
    }
    tokens
}

/// Tokens with invalid headers: unknown keys, critical extensions, other algorithms, and keys that the token supplies.
fn headers(attacker: &str) -> Vec<(String, String)> {
    let mut tokens = Vec::new();
    let mut add = |members: Value, key: &SigningKey| {
        let defect: String = members.to_string().chars().take(80).collect();
        tokens.push((defect, signed(&header(&members), &admin(), key)));
    };
    let long = "x".repeat(8_000);
    for kid in
        ["unknown", "", "../../../../dev/null", "file:///dev/null", "' OR 1=1 --", "test\u{0}", "TEST", &long]
    {
        add(json!({ "kid": kid }), key());
    }
    add(json!({"kid": attacker}), key());
    add(json!({"kid": 5}), key());
    for crit in
        [json!(["b64"]), json!(["https://drover.example/unknown"]), json!(["exp"]), json!([]), json!(null)]
    {
        add(json!({ "crit": crit, "b64": true, "exp": 1 }), key());
    }
    for alg in ["RS256", "ES256", "PS256", "ES384", "HS256", "Ed448"] {
        add(json!({ "alg": alg }), key());
    }
    let own = SigningKey::from_bytes(&rand::random());
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig",
        "x": URL_SAFE_NO_PAD.encode(own.verifying_key().as_bytes())});
    for kid in [json!(KID), json!("attacker"), json!(null)] {
        add(json!({ "kid": kid, "jwk": jwk }), &own);
        add(json!({ "kid": kid, "jku": format!("{attacker}/jwks.json") }), &own);
        add(json!({ "kid": kid, "x5u": format!("{attacker}/key.pem") }), &own);
        add(json!({ "kid": kid, "x5c": [jwk["x"]] }), &own);
    }
    tokens
}
