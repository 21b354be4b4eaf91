use std::path::Path;

use secrecy::ExposeSecret;
use url::Url;

use super::*;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ServiceSettings {
    hook_secret: String,
    countries: Vec<String>,
    ports: Vec<u16>,
    nested: Nested,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Nested {
    on: bool,
    share: f64,
    place: Option<Url>,
}

fn load(file: Option<&str>, variables: &[(&str, &str)]) -> anyhow::Result<Config<ServiceSettings>> {
    let mut defaults = Config::<ServiceSettings>::default();
    defaults.service.countries = vec!["GB".into()];
    defaults.database.url = "sqlite://x.sqlite".into();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drover.toml");
    std::fs::write(&path, file.unwrap_or_default()).unwrap();
    let variables = variables.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
    load::merge(&defaults, file.map(|_| path.as_path()), variables)
}

#[test]
fn later_layers_override_earlier_ones() {
    let file = "[server]\nport = 1\nworkers = 3\n[service]\ncountries = ['FR']\n[service.nested]\non = true";
    let config = load(Some(file), &[("DROVER_SERVER__PORT", "2")]).unwrap();
    assert_eq!((config.server.port, config.server.workers, config.server.json_bytes), (2, 3, 1 << 20));
    assert_eq!(config.service.countries, ["FR"]);
    assert!(config.service.nested.on);
}

#[test]
fn variables_are_parsed_as_the_type_of_the_field() {
    let config = load(
        None,
        &[
            ("DROVER_SERVER__CORS_ORIGINS", "https://a.example, https://b.example,"),
            ("DROVER_SERVICE__COUNTRIES", "IE"),
            ("DROVER_SERVICE__PORTS", "80,443"),
            ("DROVER_SERVICE__HOOK_SECRET", "0012345678901234567890"),
            ("DROVER_SERVICE__NESTED__ON", "true"),
            ("DROVER_SERVICE__NESTED__SHARE", "0.5"),
            ("DROVER_SERVICE__NESTED__PLACE", "http://h/"),
            ("DROVER_AUTH__AUDIENCE", "1e3"),
            ("DROVER_AUTH__ISSUER", ""),
            ("DROVER_DATABASE__URL", "postgres://u:1,2@h/d"),
        ],
    );
    let Config { server, database, auth, service, .. } = config.unwrap();
    assert_eq!(server.cors_origins, ["https://a.example", "https://b.example"]);
    assert_eq!((service.countries, service.ports), (vec!["IE".to_owned()], vec![80, 443]));
    assert_eq!(service.hook_secret, "0012345678901234567890");
    assert!(service.nested.on && service.nested.place.is_some());
    assert!((service.nested.share - 0.5).abs() < 1e-9);
    assert_eq!((auth.audience.as_deref(), auth.issuer), (Some("1e3"), None));
    assert_eq!(database.url.expose_secret(), "postgres://u:1,2@h/d");
}

#[test]
fn reads_values_from_files() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let [url, secret, list] =
        [("url", "postgres://u:p@h/d\n"), ("secret", " s3cret\n\n"), ("list", "IE\r\nFR, GB")]
            .map(|(name, text)| file(name, text.as_bytes()));
    let config = load(
        None,
        &[
            ("DROVER_DATABASE__URL_FILE", &url),
            ("DROVER_DATABASE__URL", ""),
            ("DROVER_SERVICE__HOOK_SECRET_FILE", &secret),
            ("DROVER_SERVICE__COUNTRIES_FILE", &list),
            // The name of a setting, not a file with the value of another one.
            ("DROVER_AUTH__JWKS_FILE", "/no/such/file"),
        ],
    );
    let config = config.unwrap();
    assert_eq!(config.database.url.expose_secret(), "postgres://u:p@h/d");
    assert_eq!(config.service.hook_secret, " s3cret\n");
    assert_eq!(config.service.countries, ["IE", "FR", "GB"]);
    assert_eq!(config.auth.jwks_file.as_deref(), Some(Path::new("/no/such/file")));

    let refused = |variables: &[(&str, &str)]| {
        let error = format!("{:#}", load(None, variables).unwrap_err());
        assert!(!error.contains("s3cret"), "{error}");
        error
    };
    let both =
        refused(&[("DROVER_SERVICE__HOOK_SECRET_FILE", &secret), ("DROVER_SERVICE__HOOK_SECRET", "s3cret")]);
    assert!(both.contains("DROVER_SERVICE__HOOK_SECRET and DROVER_SERVICE__HOOK_SECRET_FILE"), "{both}");
    let (empty, garbled) = (file("empty", b"\n"), file("garbled", b"s3cret\xff"));
    for (path, reason) in [("/no/such/file", "cannot be read"), (&empty, "is empty"), (&garbled, "UTF-8")] {
        let error = refused(&[("DROVER_SERVICE__HOOK_SECRET_FILE", path)]);
        let parts = ["DROVER_SERVICE__HOOK_SECRET_FILE", path, reason];
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    }
    assert!(refused(&[("DROVER_DATABASE__URI_FILE", &url)]).contains("uri_file"));
    let folder = folder.path().display().to_string();
    assert!(refused(&[("DROVER_SERVER__PORT_FILE", &folder)]).contains("cannot be read"));
}

#[test]
fn ignores_variables_that_are_not_settings() {
    load(None, &[("DROVER_TEST_POSTGRES", "x"), ("DROVER_SYSTEM_PORT", "tcp://10.0.0.1:80"), ("HOME", "/")])
        .unwrap();
}

#[test]
fn names_the_invalid_setting_and_the_allowed_values() {
    for (name, value, message) in [
        (
            "DROVER_DATABASE__PASSWORD",
            "1",
            "there is no setting database.password (DROVER_DATABASE__PASSWORD): section database has url, read_url, \
             read_max_lag_ms, pool_size, pooler, migrate, wait_ms",
        ),
        (
            "DROVER_DATABASE__POOLER",
            "session",
            "database.pooler (DROVER_DATABASE__POOLER) must be none or transaction",
        ),
        (
            "DROVER_NONSENSE__X",
            "1",
            "there is no section nonsense: the sections are server, database, auth, log, traces, service",
        ),
        (
            "DROVER_SERVER__PORT",
            "eighty",
            "server.port (DROVER_SERVER__PORT) must be a whole number, 0 to 65535",
        ),
        (
            "DROVER_SERVER__PORT",
            "70000",
            "server.port (DROVER_SERVER__PORT) is 70000: set it to a whole number, 0 to 65535",
        ),
        (
            "DROVER_SERVER__WORKERS",
            "-1",
            "server.workers (DROVER_SERVER__WORKERS) is -1: set it to a whole number, 0 or more",
        ),
        (
            "DROVER_DATABASE__MIGRATE",
            "perhaps",
            "database.migrate (DROVER_DATABASE__MIGRATE) must be true or false",
        ),
        ("DROVER_TRACES__RATIO", "half", "traces.ratio (DROVER_TRACES__RATIO) must be a number such as 0.5"),
        ("DROVER_LOG__FORMAT", "xml", "log.format (DROVER_LOG__FORMAT) must be json or pretty"),
        (
            "DROVER_SERVICE__NESTED__NO",
            "1",
            "there is no setting service.nested.no (DROVER_SERVICE__NESTED__NO): section service.nested has on, share, \
             place",
        ),
        (
            "DROVER_SERVICE__PORTS",
            "80,x",
            "service.ports[1] (DROVER_SERVICE__PORTS) must be a whole number, 0 to 65535",
        ),
    ] {
        let error = format!("{:#}", load(None, &[(name, value)]).unwrap_err());
        assert_eq!(error, message, "{name}");
    }
    let url = format!("{:#}", load(None, &[("DROVER_AUTH__JWKS_URL", "keys.example")]).unwrap_err());
    let begin = "auth.jwks_url (DROVER_AUTH__JWKS_URL) must be a URL such as https://";
    assert!(url.starts_with(begin) && !url.contains("keys.example"), "{url}");
    for (file, part) in [
        ("[server]\nport = 'x'", "server.port (DROVER_SERVER__PORT) must be a whole number"),
        ("[server]\nprot = 1", "there is no setting server.prot (DROVER_SERVER__PROT)"),
        ("[log]\nformat = 'xml'", "must be json or pretty"),
        ("[database]\nmigrate = 'perhaps'", "must be true or false"),
        ("server = 5", "server (DROVER_SERVER)"),
    ] {
        let error = format!("{:#}", load(Some(file), &[]).unwrap_err());
        assert!(error.contains(part), "{file}: {error}");
    }
    let error = format!("{:#}", load(Some("[server]\nport = 'x"), &[]).unwrap_err());
    assert!(error.contains("drover.toml is not TOML: TOML parse error at line 2"), "{error}");
}

#[test]
fn shows_a_number_out_of_range_and_the_range() {
    let head = "server.head_seconds (DROVER_SERVER__HEAD_SECONDS)";
    let range = "a whole number, 1 to 86400";
    for number in ["0", "-1", "86401", "1e9", "1.5", "99999999999999999999", "-0"] {
        let error = load(None, &[("DROVER_SERVER__HEAD_SECONDS", number)]).unwrap_err();
        assert_eq!(error.to_string(), format!("{head} is {number}: set it to {range}"));
    }
    for (number, shown) in [("0", "0"), ("-1", "-1"), ("86_401", "86401"), ("1e9", "1000000000")] {
        let file = format!("[server]\nhead_seconds = {number}");
        assert_eq!(
            load(Some(&file), &[]).unwrap_err().to_string(),
            format!("{head} is {shown}: set it to {range}")
        );
    }
    // Other text may be a secret.
    let error = load(None, &[("DROVER_SERVER__HEAD_SECONDS", "s3cret")]).unwrap_err();
    assert_eq!(error.to_string(), format!("{head} must be {range}"));
    let error = load(None, &[("DROVER_SERVICE__PORTS", "80,-1")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "service.ports[1] (DROVER_SERVICE__PORTS) is -1: set it to a whole number, 0 to 65535"
    );
    for number in ["1", "86400"] {
        load(None, &[("DROVER_SERVER__HEAD_SECONDS", number)]).unwrap();
    }
}

#[test]
fn names_a_file_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.toml");
    for path in [missing.as_path(), folder.path()] {
        let loaded = load::merge(&Config::<ServiceSettings>::default(), Some(path), std::iter::empty());
        let error = format!("{:#}", loaded.unwrap_err());
        let path = path.display();
        let begin = format!("the configuration file {path} (--config) cannot be read: ");
        assert!(error.starts_with(&begin), "{error}");
    }
}

#[test]
fn describe_omits_passwords() {
    let config = load(None, &[("DROVER_DATABASE__URL", "postgres://u:s3cret@h/d")]).unwrap();
    let lines = describe(&config);
    assert!(
        !lines.contains("s3cret") && lines.contains("DROVER_DATABASE__URL=postgres://u:…@h/d"),
        "{lines}"
    );
    assert!(lines.contains("DROVER_AUTH__CLAIMS__ORG_NAME=orgName"), "{lines}");
}

#[test]
fn errors_contain_no_values() {
    for (file, variable) in [
        (Some("[service]\ncountries = 's3cret'"), None),
        (Some("[service]\nhook_secret = \"s3cret"), None),
        (None, Some(("DROVER_SERVICE__NESTED__PLACE", "https://ruth:s3cret@h:99999/x"))),
        (None, Some(("DROVER_SERVICE__NESTED__PLACE", "//ruth:s3cret@h"))),
        (None, Some(("DROVER_SERVER__PUBLIC_URL", "https://ruth:s3cret@h:99999/x"))),
    ] {
        let error = format!("{:?}", load(file, variable.as_slice()).unwrap_err());
        assert!(!error.contains("s3cret"), "{error}");
    }
    let config = load(None, &[("DROVER_AUTH__JWKS_URL", "https://ruth:s3cret@h/x")]).unwrap();
    assert!(describe(&config).contains("https://h/x"), "{}", describe(&config));
    let config = load(None, &[("DROVER_SERVER__PUBLIC_URL", "ruth:s3cret@h/x")]).unwrap();
    assert!(!describe(&config).contains("s3cret"), "{}", describe(&config));
}

#[test]
fn describe_omits_credentials_in_urls() {
    let set = [
        ("DROVER_SERVER__CORS_ORIGINS", "https://a.example,https://u:hunter2@b.example"),
        ("DROVER_SERVER__PUBLIC_URL", "https://u:hunter2@a.example/?key=hunter2"),
        ("DROVER_AUTH__JWKS_URL", "https://a.example/keys?key=hunter2"),
    ];
    let shown = describe(&load(None, &set).unwrap());
    assert!(!shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("https://a.example/keys?redacted"), "{shown}");
}
