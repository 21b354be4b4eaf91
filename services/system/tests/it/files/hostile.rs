//! Names and ids that want to lead elsewhere, and what errors tell.

use testkit::{Backend, User};

use super::stored::Store;
use super::{encode, start};

const TYPE: &str = "multipart/form-data; boundary=x";

/// Everything below a folder, with what is in it.
fn tree(folder: &std::path::Path, below: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            tree(&path, below);
        } else {
            below.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

testkit::on_both! {
    /// File names are words about a file: nothing is written or read by them.
    async fn names_lead_nowhere(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let Store::Folder(folder) = &files.store else { unreachable!() };
        std::fs::write(folder.path().join("secret"), b"not yours").unwrap();
        for (n, name) in [
            "../../etc/passwd", "..\\\\..\\\\secret", "/etc/passwd", "....//....//secret", "%2e%2e%2fsecret", "..%2f..%2fsecret",
            "file:///etc/passwd", "secret%00.png", "~/.ssh/id", "a\u{202e}gnp.exe", "CON", ".staging", "x; filename=y",
            "%0d%0aX-Injected: y", "=1+1", "\u{2028}",
        ].iter().enumerate() {
            for parameters in [
                format!("name=\"file\"; filename=\"{name}\""),
                format!("name=\"file\"; filename*=UTF-8''{}", name.replace('%', "%25").replace(['/', ' ', ';'], "%2F")),
            ] {
                let own = format!("own {n}");
                let body = encode("x", &[
                    ("name=\"bucket\"", b"files"), ("name=\"type\"", b"misc"), ("name=\"name\"", name.as_bytes()),
                    ("name=\"file\"; filename=\"first\"", b"first"), (&parameters, own.as_bytes()),
                ]);
                let reply = files.app.post("/v1/files").by(&user).body(TYPE, body).send().await;
                if reply.status == 400 {
                    continue;
                }
                let record = reply.ok();
                for file in [&record, &record["additional"][0]] {
                    let kept = file["info"]["name"].as_str().unwrap();
                    assert!(!kept.contains(['/', '\\', '\r', '\n', '\0']) && kept != "..", "{name}: {kept}");
                    let reply = files.get(&user, file["id"].as_str().unwrap()).await;
                    assert!(reply.bytes == b"first" || reply.bytes == own.as_bytes(), "{name}");
                    assert!(!reply.headers.contains_key("x-injected"), "{name}");
                    let disposition = reply.header("content-disposition");
                    assert!(disposition.is_ascii() && disposition.matches('"').count() == 2, "{disposition}");
                }
            }
        }
        let mut below = Vec::new();
        tree(folder.path(), &mut below);
        let store = format!("{}/store/", folder.path().display());
        let outside: Vec<_> = below.iter().filter(|(path, _)| !path.starts_with(&store)).collect();
        assert_eq!(outside.len(), 1, "{outside:?}");
        for (path, _) in below.iter().filter(|(path, _)| path.starts_with(&store)) {
            let name = &path[store.len()..];
            let hash = name.split_once('/').unwrap().1;
            assert!(hash.starts_with(&name[..2]) && hash.len() == 101, "{name}");
        }
    }

    async fn ids_lead_nowhere(backend) {
        let files = start(backend).await;
        let (user, admin) = (User::of("farm"), User::admin());
        let made = files.make(&user, "misc", b"mine").await;
        let Store::Folder(folder) = &files.store else { unreachable!() };
        std::fs::write(folder.path().join("secret"), b"not yours").unwrap();
        let content = files.stored().await[0].display().to_string();
        let name = content.rsplit('/').next().unwrap();
        let below = format!("{}%2f{name}", &name[..2]);
        for id in [
            "..%2fsecret", "..%2f..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "%2fetc%2fpasswd", ".staging", "%00", "..",
            &format!("{made}%00"), &format!("{made}%2f..%2f..%2fsecret"), &format!("{made}%20"), &format!("%7b{made}%7d"),
            name, &below, "..%252f..%252fsecret", "..%c0%afsecret",
        ] {
            for (method, rest) in [("GET", ""), ("HEAD", ""), ("GET", "/info"), ("DELETE", "")] {
                let reply = files.app.call(method, &format!("/v1/files/{id}{rest}")).by(&admin).send().await;
                assert!(matches!(reply.status, 404 | 405), "{method} {id}{rest}: {}", reply.text());
                assert!(!reply.text().contains("not yours") && !reply.text().contains("root:"), "{id}");
            }
        }
        assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"not yours");
        assert_eq!(files.get(&user, &made).await.bytes, b"mine");
    }

    async fn parameters_resist_injection(backend) {
        let files = start(backend).await;
        let foreign = files.make(&User::of("mart"), "misc", b"FOREIGN-7").await;
        testkit::assert_parameters_resist_injection(&files.app, &User::of("farm"), "FOREIGN-7").await;
        assert_eq!(files.get(&User::of("mart"), &foreign).await.bytes, b"FOREIGN-7");
    }

    async fn errors_hide_internals(backend) {
        let files = start(backend).await;
        let schema = if backend == Backend::Postgres { "system." } else { "" };
        testkit::assert_errors_hide_internals(&files.app, &format!("DROP TABLE {schema}files")).await;
    }
}
