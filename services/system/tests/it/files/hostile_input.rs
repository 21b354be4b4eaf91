//! Hostile file names, ids and parameters, and the text of errors.

use testkit::User;

use super::store_fixture::StoreFixture;
use super::{encode, start};

const TYPE: &str = "multipart/form-data; boundary=x";

/// Collects all files below a folder, with their contents.
fn collect_files(folder: &std::path::Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect_files(&path, files);
        } else {
            files.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
}

testkit::on_both! {
    /// The service never uses the names of files as paths.
    async fn file_names_do_not_traverse_paths(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        let StoreFixture::Folder(folder) = &files.store else { unreachable!() };
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
                    let stored = file["info"]["name"].as_str().unwrap();
                    assert!(!stored.contains(['/', '\\', '\r', '\n', '\0']) && stored != "..", "{name}: {stored}");
                    let reply = files.get(&user, file["id"].as_str().unwrap()).await;
                    assert!(reply.bytes == b"first" || reply.bytes == own.as_bytes(), "{name}");
                    assert!(!reply.headers.contains_key("x-injected"), "{name}");
                    let disposition = reply.header("content-disposition");
                    assert!(disposition.is_ascii() && disposition.matches('"').count() == 2, "{disposition}");
                }
            }
        }
        let mut paths = Vec::new();
        collect_files(folder.path(), &mut paths);
        let store = format!("{}/store/", folder.path().display());
        let outside: Vec<_> = paths.iter().filter(|(path, _)| !path.starts_with(&store)).collect();
        assert_eq!(outside.len(), 1, "{outside:?}");
        for (path, _) in paths.iter().filter(|(path, _)| path.starts_with(&store)) {
            let name = &path[store.len()..];
            let hash = name.split_once('/').unwrap().1;
            assert!(hash.starts_with(&name[..2]) && hash.len() == 101, "{name}");
        }
    }

    async fn ids_do_not_traverse_paths(backend) {
        let files = start(backend).await;
        let (user, admin) = (User::of("farm"), User::admin());
        let own = files.make(&user, "misc", b"mine").await;
        let StoreFixture::Folder(folder) = &files.store else { unreachable!() };
        std::fs::write(folder.path().join("secret"), b"not yours").unwrap();
        let content = files.stored().await[0].display().to_string();
        let name = content.rsplit('/').next().unwrap();
        let encoded_path = format!("{}%2f{name}", &name[..2]);
        for id in [
            "..%2fsecret", "..%2f..%2fsecret", "%2e%2e%2fsecret", "..%5csecret", "%2fetc%2fpasswd", ".staging", "%00", "..",
            &format!("{own}%00"), &format!("{own}%2f..%2f..%2fsecret"), &format!("{own}%20"), &format!("%7b{own}%7d"),
            name, &encoded_path, "..%252f..%252fsecret", "..%c0%afsecret",
        ] {
            for (method, rest) in [("GET", ""), ("HEAD", ""), ("GET", "/info"), ("DELETE", "")] {
                let reply = files.app.call(method, &format!("/v1/files/{id}{rest}")).by(&admin).send().await;
                assert!(matches!(reply.status, 404 | 405), "{method} {id}{rest}: {}", reply.text());
                assert!(!reply.text().contains("not yours") && !reply.text().contains("root:"), "{id}");
            }
        }
        assert_eq!(std::fs::read(folder.path().join("secret")).unwrap(), b"not yours");
        assert_eq!(files.get(&user, &own).await.bytes, b"mine");
    }

    async fn parameters_resist_injection(backend) {
        let files = start(backend).await;
        let foreign = files.make(&User::of("mart"), "misc", b"FOREIGN-7").await;
        testkit::assert_parameters_resist_injection(&files.app, &User::of("farm"), "FOREIGN-7").await;
        assert_eq!(files.get(&User::of("mart"), &foreign).await.bytes, b"FOREIGN-7");
    }

    async fn control_characters_are_refused(backend) {
        testkit::assert_control_characters_are_refused(&start(backend).await.app).await;
    }

    async fn errors_hide_internals(backend) {
        let files = start(backend).await;
        let drop = ["files", "service_accounts"].map(|table| format!("DROP TABLE {table};"));
        testkit::assert_errors_hide_internals(&files.app, &drop.concat()).await;
    }
}
