//! Compares random sequences of creating, editing, rotating, expiring and deleting service accounts with a plain model:
//! the response to each step, which accounts each caller finds, which secrets get a token, and what each token may do.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

use super::*;

const STEPS: usize = 20;
/// A user of the farm, one with the role `viewer`, users of another organisation and of none, an administrator, and
/// a service account of the farm.
const ACTORS: [&str; 9] = ["farm", "farm", "farm", "farm", "viewer", "other", "alone", "admin", "account"];
/// The farm's replaced secrets that work.
const REPLACED: usize = 10;

#[derive(Debug)]
struct Account {
    /// What reading it returns, without the time of its last token.
    shown: Value,
    /// The newest first.
    secrets: Vec<String>,
    is_deleted: bool,
    is_expired: bool,
}

#[derive(Debug)]
struct Token {
    token: String,
    roles: Value,
}

struct Model<'a> {
    app: &'a App,
    backend: Backend,
    organisation: String,
    accounts: Vec<Account>,
    tokens: Vec<Token>,
    log: Vec<String>,
}

impl Model<'_> {
    /// Returns a token of an actor.
    fn token_of(&self, actor: &str) -> Option<String> {
        let farm = User::of(&self.organisation);
        let user = match actor {
            "farm" => farm,
            "viewer" => farm.with_roles(&["viewer"]),
            "admin" => User::admin(),
            "alone" => User::individual("alone"),
            "account" => return self.tokens.last().map(|token| token.token.clone()),
            other => User::of(other),
        };
        Some(user.token())
    }

    /// Returns the status of an operation on an account that exists, or of creating one (`None`).
    fn status(&self, method: &str, actor: &str, account: Option<usize>) -> u16 {
        let may = match actor {
            "farm" => true,
            "viewer" => method == "GET",
            "admin" => account.is_some(),
            _ => false,
        };
        let is_manager = ["farm", "viewer", "admin", "other"].contains(&actor);
        match account {
            // Who may manage accounts at all learns that this one is gone.
            Some(n) if self.accounts[n].is_deleted && is_manager && (actor != "viewer" || may) => 404,
            _ if may => 200,
            _ => 403,
        }
    }

    async fn step(&mut self, random: &mut StdRng) {
        let actor = *ACTORS.choose(random).unwrap();
        let Some(token) = self.token_of(actor) else { return };
        let n = (0..self.accounts.len()).collect::<Vec<_>>().choose(random).copied();
        let roles = [json!([]), json!(["viewer"]), json!(["weighbridge"]), json!(["weighbridge", "viewer"])];
        let roles = roles.choose(random).unwrap().clone();
        let send = async |method: &str, path: &str, body: &Value| {
            self.app.call(method, path).bearer(&token).json(body).send().await
        };
        let Some(n) = n.filter(|_| random.random_bool(0.75)) else {
            if actor == "other" {
                return;
            }
            let body = json!({"name": format!("account {}", self.accounts.len()), "roles": roles});
            self.log.push(format!("{actor} creates {body}"));
            let reply = send("POST", "/v1/service-accounts", &body).await;
            assert_eq!(reply.status, self.status("POST", actor, None), "{:#?}", self.log);
            if reply.status == 200 {
                let mut shown = reply.json();
                let secret = take_secret(&mut shown);
                assert_eq!((&shown["name"], &shown["roles"]), (&body["name"], &roles));
                assert_eq!(shown["organisationId"], self.organisation);
                self.accounts.push(Account {
                    shown,
                    secrets: vec![secret],
                    is_deleted: false,
                    is_expired: false,
                });
            }
            return;
        };
        let path = path(&self.accounts[n].shown);
        match random.random_range(0..10) {
            0..=2 => {
                let reply = send("POST", &format!("{path}/rotate-secret"), &json!({})).await;
                self.log.push(format!("{actor} rotates {n}: {}", reply.status));
                assert_eq!(reply.status, self.status("POST", actor, Some(n)), "{:#?}", self.log);
                if reply.status == 200 {
                    self.accounts[n].secrets.insert(0, take_secret(&mut reply.json()));
                    self.accounts[n].secrets.truncate(REPLACED + 1);
                }
            }
            3 | 4 => {
                let mut members = json!({"roles": roles});
                if random.random() {
                    members["name"] = json!(format!("name {}", self.log.len()));
                }
                let reply = send("PATCH", &path, &members).await;
                self.log.push(format!("{actor} patches {n}: {members} {}", reply.status));
                assert_eq!(reply.status, self.status("PATCH", actor, Some(n)), "{:#?}", self.log);
                if reply.status == 200 {
                    let shown = self.accounts[n].shown.as_object_mut().unwrap();
                    shown.extend(members.as_object().unwrap().clone());
                    assert_eq!(without_use(reply.json()), self.accounts[n].shown, "{:#?}", self.log);
                }
            }
            5 => {
                let reply = send("DELETE", &path, &json!({})).await;
                self.log.push(format!("{actor} deletes {n}: {}", reply.status));
                assert_eq!(reply.status, self.status("DELETE", actor, Some(n)), "{:#?}", self.log);
                self.accounts[n].is_deleted |= reply.status == 200;
            }
            6 if random.random_bool(0.2) => self.expire(n).await,
            _ => self.request_token(random, n).await,
        }
    }

    /// Makes an account expire, as a deployment does whose clock is later.
    async fn expire(&mut self, n: usize) {
        self.log.push(format!("{n} expires"));
        let account = &mut self.accounts[n];
        let id = self.backend.id(account.shown["id"].as_str().unwrap());
        let ago = self.backend.hours_ago(1);
        self.app.database.execute(&format!("UPDATE service_accounts SET expires_at = {ago} WHERE id = {id}"));
        account.is_expired = true;
        if !account.is_deleted {
            let read = self.app.get(&path(&account.shown)).by(&User::admin()).send().await.ok();
            account.shown["expiresAtUTC"] = read["expiresAtUTC"].clone();
        }
    }

    /// Requests a token with a random secret of an account, or with one that it never had.
    async fn request_token(&mut self, random: &mut StdRng, n: usize) {
        let account = &self.accounts[n];
        let is_wrong = random.random_bool(0.2);
        let mut with_secret = account.shown.clone();
        let secret = account.secrets.choose(random).unwrap();
        with_secret["clientSecret"] = if is_wrong { json!(format!("{secret}x")) } else { json!(secret) };
        let reply = request_token(self.app, credentials(&with_secret)).await;
        self.log.push(format!("{n} gets a token: {}", reply.status));
        let is_valid = !is_wrong && !account.is_deleted && !account.is_expired;
        assert_eq!(reply.status, if is_valid { 200 } else { 401 }, "{:#?}", self.log);
        if is_valid {
            let token = reply.json()["access_token"].as_str().unwrap().to_owned();
            let claims = decoded(&token, 1);
            let roles = account.shown["roles"].clone();
            assert_eq!(
                (&claims["name"], &claims["org"]),
                (&account.shown["name"], &json!(self.organisation))
            );
            assert!(
                claims["roles"] == roles || roles == json!([]) && claims.get("roles").is_none(),
                "{claims}"
            );
            self.tokens.push(Token { token, roles });
        }
    }

    /// Compares what each actor finds, and what each token may do: what the roles of its time allow.
    async fn compare(&self) {
        for actor in ["farm", "viewer", "admin", "other", "alone", "account"] {
            let Some(token) = self.token_of(actor) else { continue };
            for (n, account) in self.accounts.iter().enumerate() {
                let found = self.app.get(&path(&account.shown)).bearer(&token).send().await;
                assert_eq!(found.status, self.status("GET", actor, Some(n)), "{actor} {n} {:#?}", self.log);
                if found.status == 200 {
                    assert_eq!(without_use(found.json()), account.shown, "{actor} {:#?}", self.log);
                }
            }
            let listed = self.app.get("/v1/service-accounts?limit=100").bearer(&token).send().await;
            let existing = || self.accounts.iter().rev().filter(|account| !account.is_deleted);
            match actor {
                "account" => assert_eq!(listed.error(403), "forbidden"),
                "farm" | "viewer" => {
                    let listed = listed.entries().into_iter().map(without_use);
                    assert!(listed.eq(existing().map(|account| account.shown.clone())), "{:#?}", self.log);
                }
                "admin" => {
                    let listed = listed.entries();
                    let of_farm = listed.into_iter().filter(|a| a["organisationId"] == self.organisation);
                    let expected = existing().map(|account| account.shown.clone());
                    assert!(of_farm.map(without_use).eq(expected), "{:#?}", self.log);
                }
                _ => assert_eq!(listed.entries(), [] as [Value; 0], "{actor}"),
            }
        }
        let unknown = "01890f5f-e000-7000-8000-000000000000";
        let share = json!({"ids": [unknown], "shareWith": ["x"]});
        for Token { token, roles } in &self.tokens {
            let has = |role: &str| roles.as_array().unwrap().contains(&json!(role));
            assert_eq!(status(self.app, token).await, 200, "{:#?}", self.log);
            let archived =
                self.app.call("DELETE", &format!("/v1/files/{unknown}")).bearer(token).send().await;
            assert_eq!(
                archived.status,
                if *roles == json!([]) { 404 } else { 403 },
                "{roles} {:#?}",
                self.log
            );
            let shared = self.app.post("/v1/files/resolve").bearer(token).json(&share).send().await;
            assert_eq!(shared.status, if has("viewer") { 403 } else { 200 }, "{roles} {:#?}", self.log);
        }
    }
}

fn take_secret(account: &mut Value) -> String {
    account.as_object_mut().unwrap().remove("clientSecret").unwrap().as_str().unwrap().to_owned()
}

fn without_use(mut account: Value) -> Value {
    account.as_object_mut().unwrap().remove("lastUsedAtUTC");
    account
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let Started { app, .. } = &start(backend).await;
        let random = &mut StdRng::seed_from_u64(20_261_130);
        let (sequences, mut accounts, mut tokens) = (testkit::model_sequences(30), 0, 0);
        for n in 0..sequences {
            let (organisation, empty) = (format!("farm-{n}"), Vec::new);
            let mut model = Model { app, backend, organisation, accounts: empty(), tokens: Vec::new(), log: Vec::new() };
            for _ in 0..STEPS {
                model.step(random).await;
            }
            model.compare().await;
            accounts += model.accounts.len();
            tokens += model.tokens.len();
        }
        println!("{sequences} sequences on {backend:?}: {accounts} accounts, {tokens} tokens");
        assert!(accounts > sequences && tokens > sequences / 2, "{accounts} accounts, {tokens} tokens");
    }
}
