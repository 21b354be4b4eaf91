//! Log-in at an OpenID Connect provider, which is a small server in the test.

use std::collections::HashMap;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use testkit::jwks_file;
use testkit::processes::{checkout, ports, tools};
use wiremock::matchers::{method, path};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate};

use super::login::Program;
use super::*;

/// The answers of the token endpoint, and what it was asked.
#[derive(Clone, Default)]
struct TokenEndpoint(Arc<Mutex<Tokens>>);

#[derive(Default)]
struct Tokens {
    issuer: String,
    /// Nonces by code.
    nonces: HashMap<String, String>,
    /// Seconds until an access token expires.
    lifetime: i64,
    refuses_refresh: bool,
    /// Whether a refresh token is good for one refresh.
    is_rotating: bool,
    exchanges: usize,
    refreshes: usize,
    refusals: usize,
    /// Bytes by which access tokens are longer.
    padding: usize,
    /// Whether access tokens are for other services than Drover's.
    is_foreign: bool,
}

impl Tokens {
    /// The newest refresh token.
    fn refresh_token(&self) -> String {
        format!("refresh-{}-{}", self.exchanges, self.refreshes)
    }
}

impl Respond for TokenEndpoint {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut tokens = self.0.lock().unwrap();
        let form: HashMap<_, _> = url::form_urlencoded::parse(&request.body).into_owned().collect();
        let now = chrono::Utc::now().timestamp();
        let nonce = match form["grant_type"].as_str() {
            "authorization_code" => {
                assert!(form["code_verifier"].len() >= 43, "{form:?}");
                tokens.exchanges += 1;
                tokens.nonces.get(&form["code"]).cloned()
            }
            _ if tokens.refuses_refresh
                || tokens.is_rotating && form["refresh_token"] != tokens.refresh_token() =>
            {
                tokens.refusals += 1;
                return ResponseTemplate::new(400).set_body_json(json!({"error": "invalid_grant"}));
            }
            _ => {
                tokens.refreshes += 1;
                None
            }
        };
        let random: String = (0..tokens.padding / 36).map(|_| uuid::Uuid::new_v4().to_string()).collect();
        let mut access = owen().with("groups", &random);
        access.claims["exp"] = json!(now + tokens.lifetime);
        if tokens.is_foreign {
            access.claims["aud"] = json!("somebody-else");
        }
        access.claims["jti"] = json!(format!("{}-{}", tokens.exchanges, tokens.refreshes));
        let mut identity = User::individual("owen").with("iss", &tokens.issuer).with("aud", "console");
        identity.claims["iat"] = json!(now);
        if let Some(nonce) = nonce {
            identity = identity.with("nonce", &nonce);
        }
        ResponseTemplate::new(200).set_delay(Duration::from_millis(50)).set_body_json(json!({
            "access_token": access.token(), "token_type": "Bearer", "expires_in": tokens.lifetime,
            "refresh_token": tokens.refresh_token(), "id_token": identity.token(),
        }))
    }
}

/// An office whose console logs people in at a provider.
struct Provided {
    office: Office,
    provider: MockServer,
    endpoint: TokenEndpoint,
    console: RunningConsole,
    settings: Settings,
}

impl Provided {
    async fn start(has_log_out: bool) -> Self {
        let (office, provider) = (Office::start().await, MockServer::start().await);
        let (issuer, endpoint) = (provider.uri(), TokenEndpoint::default());
        let mut metadata = json!({
            "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
            "token_endpoint": format!("{issuer}/token"), "jwks_uri": format!("{issuer}/jwks"),
            "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
        });
        if has_log_out {
            metadata["end_session_endpoint"] = json!(format!("{issuer}/end"));
        }
        let jwks: Value = serde_json::from_slice(&std::fs::read(jwks_file()).unwrap()).unwrap();
        let get = async |at: &str, body: Value| {
            let answer = ResponseTemplate::new(200).set_body_json(body);
            Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&provider).await;
        };
        get("/.well-known/openid-configuration", metadata).await;
        get("/jwks", jwks).await;
        let token = Mock::given(method("POST")).and(path("/token"));
        token.respond_with(endpoint.clone()).mount(&provider).await;
        *endpoint.0.lock().unwrap() = Tokens { issuer: issuer.clone(), lifetime: 300, ..Tokens::default() };
        let settings = Settings {
            system_url: office.system.url.clone(),
            logistics_url: office.logistics.url.clone(),
            livestock_url: office.livestock.url.clone(),
            provider_url: Some(issuer),
            client_id: Some("console".to_owned()),
            client_secret: Some("s3cret".into()),
            session_keys: vec![STANDARD.encode([7; 32]).into()],
            ..Settings::default()
        };
        let console = RunningConsole::start(settings.clone()).await;
        Self { office, provider, endpoint, console, settings }
    }

    /// Begins to log in. Returns what the browser was sent to.
    async fn begin(&self, browser: &Browser, to: &str) -> Url {
        let page = browser.get(&format!("/login?to={to}")).await.ok();
        let refresh = page.split("content=\"0;url=").nth(1).unwrap().split('"').next().unwrap();
        let reply = browser.get(refresh).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        reply.location().parse().unwrap()
    }

    /// Lets the provider send the browser back.
    async fn come_back(&self, browser: &Browser, url: &Url) -> browser::Reply {
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let code = format!("code-of-{}", query["state"]);
        self.tokens(|tokens| tokens.nonces.insert(code.clone(), query["nonce"].clone()));
        browser.get(&format!("/login/callback?state={}&code={code}", query["state"])).await
    }

    async fn log_in(&self) -> Browser {
        let browser = Browser::new(&self.console.url);
        let url = self.begin(&browser, "/").await;
        let reply = self.come_back(&browser, &url).await;
        assert_eq!((reply.status, reply.location()), (303, "/"), "{}", reply.text);
        browser
    }

    fn tokens<T>(&self, change: impl FnOnce(&mut Tokens) -> T) -> T {
        change(&mut self.endpoint.0.lock().unwrap())
    }
}

#[test]
fn log_ins_of_several_tabs_succeed_in_any_order() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        let browser = Browser::new(&provided.console.url);
        let mut begun = Vec::new();
        for to in ["/loads", "/loads?status=upcoming", "/"] {
            let url = provided.begin(&browser, to).await;
            let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
            assert_eq!((query["client_id"].as_str(), query["response_type"].as_str()), ("console", "code"));
            assert_eq!(
                (query["code_challenge_method"].as_str(), query["scope"].as_str()),
                ("S256", "openid profile")
            );
            assert_eq!(query["redirect_uri"], format!("{}/login/callback", provided.console.url));
            begun.push((to, url));
        }
        for (to, url) in [begun[1].clone(), begun[2].clone(), begun[0].clone()] {
            let reply = provided.come_back(&browser, &url).await;
            assert_eq!((reply.status, reply.location()), (303, to), "{}", reply.text);
        }
        assert!(browser.get("/").await.ok().contains("Border Grain Merchants"));
        // Each answer counts once, and only in the browser that began.
        let reply = provided.come_back(&browser, &begun[0].1).await;
        assert!(reply.status == 400 && reply.text.contains("Begin again"), "{}", reply.text);
        let other = Browser::new(&provided.console.url);
        let url = provided.begin(&Browser::new(&provided.console.url), "/").await;
        assert_eq!(provided.come_back(&other, &url).await.status, 400);
        for query in ["", "?state=&code=x", "?state=x&code=x", "?error=access_denied&state=x"] {
            assert_eq!(other.get(&format!("/login/callback{query}")).await.status, 400, "{query}");
        }
        assert_eq!(other.cookies(), "");
    });
}

#[test]
fn the_provider_may_have_another_address_for_the_console() {
    testkit::block_on(async {
        let mut provided = Provided::start(true).await;
        // Nothing listens at the address that browsers use.
        let (issuer, inside) = ("https://login.invalid/id", provided.provider.uri());
        let url = |path: &str| format!("{issuer}{path}");
        let metadata = json!({
            "issuer": issuer, "authorization_endpoint": url("/authorize"), "token_endpoint": url("/token"),
            "jwks_uri": url("/jwks"), "end_session_endpoint": url("/end"), "response_types_supported": ["code"],
            "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": ["EdDSA", "RS256"],
        });
        let get = Mock::given(method("GET")).and(path("/.well-known/openid-configuration"));
        let get = get.respond_with(ResponseTemplate::new(200).set_body_json(metadata)).with_priority(1);
        get.mount(&provided.provider).await;
        provided.tokens(|tokens| issuer.clone_into(&mut tokens.issuer));
        provided.settings.provider_url = Some(issuer.to_owned());
        provided.settings.provider_internal_url = Some(format!("{inside}/"));
        provided.console = RunningConsole::start(provided.settings.clone()).await;
        let browser = Browser::new(&provided.console.url);
        let begun = provided.begin(&browser, "/").await;
        assert!(begun.as_str().starts_with(&url("/authorize?")), "{begun}");
        assert_eq!(provided.come_back(&browser, &begun).await.status, 303);
        assert!(browser.get("/").await.ok().contains("Border Grain Merchants"));
    });
}

#[test]
fn a_wrong_nonce_or_a_refusal_logs_nobody_in() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        let browser = Browser::new(&provided.console.url);
        let url = provided.begin(&browser, "/").await;
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        provided.tokens(|tokens| tokens.nonces.insert("code".to_owned(), "another".to_owned()));
        let reply = browser.get(&format!("/login/callback?state={}&code=code", query["state"])).await;
        assert!(reply.status == 400 && !browser.cookies().contains("session"), "{}", reply.text);
        let url = provided.begin(&browser, "/").await;
        let query: HashMap<_, _> = url.query_pairs().into_owned().collect();
        let reply =
            browser.get(&format!("/login/callback?state={}&error=access_denied", query["state"])).await;
        assert!(reply.status == 400 && reply.text.contains("did not log you in"), "{}", reply.text);
    });
}

#[test]
fn an_expired_token_is_refreshed_once_for_all_requests() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        provided.tokens(|tokens| tokens.lifetime = 1);
        let browser = provided.log_in().await;
        let expired = browser.cookies();
        provided.tokens(|tokens| tokens.lifetime = 300);
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let tabs: Vec<_> = (0..10).map(|_| Browser::new(&provided.console.url)).collect();
        let replies = futures_util::future::join_all(tabs.iter().map(async |tab| {
            tab.set_cookies(&expired);
            tab.get("/loads").await
        }));
        for reply in replies.await {
            assert_eq!(reply.status, 200, "{}", reply.text);
            assert!(reply.header("set-cookie").contains("session-0="), "{:?}", reply.headers);
        }
        assert_eq!(provided.tokens(|tokens| tokens.refreshes), 1);
        assert_ne!(tabs[0].cookies(), expired);
        assert_eq!(tabs[0].get("/").await.status, 200);
    });
}

#[test]
fn an_expired_token_serves_all_requests_of_two_replicas() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        let id = provided.office.create_load(&json!({})).await;
        let note = format!("/loads/{id}/note");
        provided.tokens(|tokens| (tokens.lifetime, tokens.is_rotating) = (1, true));
        let browser = provided.log_in().await;
        let form = browser.get(&note).await;
        let replica = RunningConsole::start(provided.settings.clone()).await;
        let replicas = [&browser, &browser.at_replica(&replica.url)];
        let before = provided.tokens(|tokens| {
            tokens.lifetime = 300;
            tokens.refreshes
        });
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        // Browsers send a request again that is answered with 307. A proxy leads it to the other replica.
        let send = async |number: usize| {
            for turn in number.. {
                let (at, path) = (replicas[turn % 2], ["/loads", "/driver/me", &note, "/"][number % 4]);
                let reply = match number % 4 {
                    2 => at.send_form(&form, path, &[("text", "Gate 3")]).await,
                    _ => at.get(path).await,
                };
                if reply.status != 307 {
                    return reply;
                }
                assert_eq!(reply.location(), path);
            }
            unreachable!()
        };
        let replies = futures_util::future::join_all((0..10).map(send)).await;
        for (number, reply) in replies.iter().enumerate() {
            assert_eq!(reply.status, if number % 4 == 2 { 303 } else { 200 }, "{number}: {}", reply.text);
        }
        let (refreshes, refusals) = provided.tokens(|tokens| (tokens.refreshes, tokens.refusals));
        assert!(refreshes == before + 1 && refusals > 0, "{before}, {refreshes}, {refusals}");
        let notes = provided.office.logistics.get(&format!("/v1/loads/{id}/events?f:type=noted"));
        assert_eq!(notes.by(&owen()).send().await.ok().as_array().unwrap().len(), 1);
    });
}

#[test]
fn who_is_locked_at_the_provider_is_out_when_the_token_expires() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        provided.tokens(|tokens| tokens.lifetime = 1);
        let browser = provided.log_in().await;
        let (session, form) = (browser.cookies(), browser.get("/import").await);
        provided.tokens(|tokens| tokens.refuses_refresh = true);
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        // Another replica may have refreshed the tokens: the request is repeated a few times before that is given up.
        let mut reply = browser.get("/loads").await;
        let mut retries = 0;
        while reply.status == 307 {
            assert_eq!((reply.location(), reply.header("set-cookie").contains("session")), ("/loads", false));
            reply = browser.get(reply.location()).await;
            retries += 1;
        }
        assert_eq!((retries, reply.status), (4, 303), "{}", reply.text);
        let login = reply.location().to_owned();
        assert_eq!(browser.get(&login).await.status, 200, "nobody is logged in");
        // Further requests are not repeated, and what is sent is kept.
        assert_eq!(browser.get("/").await.location(), "/login?to=%2F");
        let sent =
            browser.send_sheets(&form, ("/import/check", "/import/check"), &[("pasted", "A")], &[]).await;
        assert!(sent.status == 401 && sent.text.contains("Nothing is lost"), "{} {}", sent.status, sent.text);

        // The cookie stays. Once the browser has the one of another replica, the log-in leads back.
        assert!(browser.cookies().contains("session-0="), "{session}");
        provided.tokens(|tokens| (tokens.lifetime, tokens.refuses_refresh) = (300, false));
        let other = provided.log_in().await;
        browser.set_cookies(&other.cookies());
        assert_eq!(browser.get(&login).await.location(), "/loads", "and not to the provider");
        assert_eq!(browser.get("/login").await.status, 200, "whoever wants to can log in again");
    });
}

#[test]
fn a_token_that_is_still_valid_serves_while_the_provider_refuses() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        provided.tokens(|tokens| tokens.lifetime = 30);
        let browser = provided.log_in().await;
        provided.tokens(|tokens| tokens.refuses_refresh = true);
        let reply = browser.get("/").await;
        assert_eq!((reply.status, reply.header("set-cookie")), (200, ""), "{}", reply.text);
    });
}

#[test]
fn log_out_ends_the_session_of_the_provider_by_a_page() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        let browser = provided.log_in().await;
        let reply = browser.fill("/", "/logout", &[]).await;
        let end = format!("{}/end?", provided.provider.uri());
        assert!(
            reply.status == 200 && reply.location().is_empty() && reply.text.contains(&end),
            "{}",
            reply.text
        );
        for part in ["client_id=console", "id_token_hint=ey", "post_logout_redirect_uri=", "logged-out"] {
            assert!(reply.text.contains(part), "{part}: {}", reply.text);
        }
        assert!(!browser.cookies().contains("session") && browser.get("/").await.status == 303);
        assert!(browser.get("/logged-out").await.ok().contains("Log in again"));

        // Also within the last minute of a token, which is not refreshed for it, and without a session.
        provided.tokens(|tokens| tokens.lifetime = 30);
        let browser = provided.log_in().await;
        let page = browser.get("/").await;
        let reply = browser.send_form(&page, "/logout", &[]).await;
        assert!(reply.status == 200 && reply.text.contains(&end), "{}", reply.text);
        assert!(!browser.cookies().contains("session"), "{}", browser.cookies());
        assert_eq!(browser.send_form(&page, "/logout", &[]).await.status, 200);

        let without = Provided::start(false).await;
        let browser = without.log_in().await;
        let reply = browser.fill("/", "/logout", &[]).await;
        assert!(reply.text.contains("Log in again") && !reply.text.contains("http-equiv"), "{}", reply.text);
    });
}

#[test]
fn log_out_works_with_a_dead_refresh_token() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        let browser = provided.log_in().await;
        let page = browser.get("/").await;
        provided.tokens(|tokens| (tokens.lifetime, tokens.refuses_refresh) = (1, true));
        let other = provided.log_in().await;
        tokio::time::sleep(Duration::from_millis(1_200)).await;
        let reply = other.send_form(&page, "/logout", &[]).await;
        assert!(reply.status == 200 && reply.text.contains("id_token_hint=ey"), "{}", reply.text);
        assert!(!other.cookies().contains("session"), "{}", other.cookies());
    });
}

#[test]
fn who_is_not_accepted_is_offered_another_account() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        provided.tokens(|tokens| tokens.is_foreign = true);
        let browser = provided.log_in().await;
        let refused = browser.get("/").await;
        assert_eq!((refused.status, refused.location()), (401, ""), "{}", refused.text);
        // A page that led on by itself would come back at once: the provider logs in the same person.
        assert!(!refused.text.contains("http-equiv") && refused.text.contains("href=\"/account\""));
        let reply = browser.fill("/account", "/logout", &[]).await;
        assert!(reply.text.contains(&format!("{}/end?", provided.provider.uri())), "{}", reply.text);
        assert!(!browser.cookies().contains("session"), "{}", browser.cookies());
    });
}

#[test]
fn long_tokens_are_split_and_too_long_ones_are_explained() {
    testkit::block_on(async {
        let provided = Provided::start(true).await;
        provided.tokens(|tokens| tokens.padding = 6_000);
        let browser = provided.log_in().await;
        assert!(browser.cookies().contains("session-1="), "{}", browser.cookies());
        assert!(browser.get("/").await.ok().contains("Border Grain Merchants"));
        assert_eq!(
            browser.post("/login/person", &[("person", "anna")]).await.status,
            404,
            "nobody chooses who to be"
        );
        provided.tokens(|tokens| tokens.padding = 16_000);
        let browser = Browser::new(&provided.console.url);
        let url = provided.begin(&browser, "/").await;
        let reply = provided.come_back(&browser, &url).await;
        assert!(reply.status == 400 && reply.text.contains("too long for a cookie"), "{}", reply.text);
        drop(provided.office);
    });
}

/// Starts the proxy of deploy/nginx, without TLS, before a console.
fn start_proxy(folder: &std::path::Path, port: u16, console: SocketAddr) -> Program {
    for file in fs::read_dir(checkout::root().join("deploy/nginx")).unwrap() {
        let file = file.unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let text = match file.file_name().to_str().unwrap() {
            "site.conf" => {
                format!("server {{\n    listen 127.0.0.1:{port};\n    include routes.conf;\n}}\n")
            }
            // Nothing listens at the addresses of the services.
            "upstreams.conf" => checkout::PROGRAMS.iter().zip(8081..).fold(text, |text, (name, port)| {
                let address =
                    if *name == checkout::CONSOLE { console.to_string() } else { "127.0.0.1:1".into() };
                text.replace(&format!("server {name}:{port}"), &format!("server {address}"))
            }),
            _ => text,
        };
        fs::write(folder.join(file.file_name()), text).unwrap();
    }
    let mut command = Command::new(tools::find("nginx").unwrap());
    // One process, which ends with the test.
    command.args(["-g", "master_process off;", "-e", "stderr", "-p"]).arg(folder);
    command.arg("-c").arg(folder.join("nginx.conf")).stdout(Stdio::null());
    let proxy = Program(command.spawn().unwrap());
    let begun = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(30), "nginx does not listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    proxy
}

#[test]
fn tokens_of_6_kb_pass_the_servers_of_the_sample_proxy() {
    testkit::block_on(async {
        let mut provided = Provided::start(true).await;
        let [port] = ports::find_free().unwrap();
        let url = format!("http://127.0.0.1:{port}").parse().unwrap();
        provided.console = RunningConsole::start_behind(Some(url), provided.settings.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        let _proxy = start_proxy(folder.path(), port, provided.console.running.address);
        // Each request refreshes them, so that its response has the cookies too.
        provided.tokens(|tokens| (tokens.lifetime, tokens.padding) = (30, 6_000));
        let browser = Browser::new(&provided.console.url);
        for _ in 0..8 {
            provided.begin(&browser, "/loads").await;
        }
        let begun = provided.begin(&browser, "/").await;
        let reply = provided.come_back(&browser, &begun).await;
        assert_eq!((reply.status, reply.location()), (303, "/"), "{}", reply.text);
        let bytes = browser.cookies().len();
        assert!(bytes > 8 << 10, "with those of other tabs that log in: {bytes} bytes");
        let reply = browser.get("/").await;
        assert!(reply.header("set-cookie").len() > 3_000, "{:?}", reply.headers);
        assert!(reply.ok().contains("Border Grain Merchants"));
        provided.tokens(|tokens| tokens.padding = 16_000);
        let other = Browser::new(&provided.console.url);
        let begun = provided.begin(&other, "/").await;
        let reply = provided.come_back(&other, &begun).await;
        assert!(reply.status == 400 && reply.text.contains("too long for a cookie"), "{}", reply.text);
    });
}
