//! Unsharing files, and the maximum number of organisations of a file.

use serde_json::{Value, json};
use testkit::{TestResponse, User};

use super::{Files, PNG, on_all, start};

async fn shared(files: &Files, id: &str) -> Value {
    files.info(&User::admin(), id).await.ok()["organisations"].clone()
}

fn names(range: std::ops::Range<usize>) -> Vec<String> {
    range.map(|i| format!("org-{i}")).collect()
}

/// Shares a file with these organisations, up to 50 per call.
async fn share(files: &Files, user: &User, id: &str, names: &[String]) {
    for batch in names.chunks(50) {
        files.resolve(user, json!({"ids": [id], "shareWith": batch})).await.ok();
    }
}

/// Shares a file that is shared with one organisation with 199 others, up to the limit.
async fn share_up_to_the_limit(files: &Files, user: &User, id: &str) {
    share(files, user, id, &names(0..199)).await;
}

/// Checks that the only error is that these files have too many organisations.
fn assert_too_many(reply: TestResponse, ids: &[&str]) {
    let data = json!({"maximum": 200, "ids": ids});
    assert_eq!(reply.json()["validation"][0]["data"], data, "{}", reply.text());
    assert_eq!(reply.errors(), ["shareWith length"]);
}

on_all! {
    async fn unsharing_removes_organisations(storage) {
        let files = start(storage).await;
        let (farm, haulier) = (User::of("farm"), User::of("haulier"));
        let (a, b) = (files.make(&farm, "contract", b"a").await, files.make(&farm, "misc", b"b").await);
        files.resolve(&farm, json!({"ids": [a, b], "shareWith": ["haulier", "mart", "*"]})).await.ok();
        let unshare = json!({"ids": [a, b], "unshareWith": ["haulier", "unknown", "haulier"]});
        let remaining = files.resolve(&farm, unshare.clone()).await.ok();
        assert_eq!(remaining[0]["organisations"], json!(["mart", "*"]));
        assert_eq!(files.resolve(&farm, unshare).await.ok(), remaining);
        assert_eq!(files.get(&haulier, &a).await.status, 200);
        files.resolve(&farm, json!({"ids": [a], "unshareWith": "*"})).await.ok();
        assert_eq!(files.get(&haulier, &a).await.error(403), "forbidden");
        assert_eq!(files.get(&User::of("mart"), &a).await.status, 200);
        assert_eq!(shared(&files, &b).await, json!(["mart", "*"]));
        // Shares and unshares in one call.
        let both = json!({"ids": [a, b], "shareWith": ["haulier"], "unshareWith": ["mart", "*"]});
        let swapped = files.resolve(&farm, both).await.ok();
        assert_eq!([&swapped[0]["organisations"], &swapped[1]["organisations"]], [&json!(["haulier"]); 2]);
        let nothing = json!({"ids": [a], "unshareWith": [], "shareWith": null});
        assert_eq!(files.resolve(&farm, nothing).await.ok()[0]["organisations"], json!(["haulier"]));
    }

    async fn unshares_only_own_files(storage) {
        let files = start(storage).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let all = json!(["mart", "haulier", "*"]);
        let (paper, picture) = (files.make(&farm, "misc", b"x").await, files.make(&farm, "image", PNG).await);
        let own = files.make(&mart, "misc", b"own").await;
        files.resolve(&farm, json!({"ids": [paper, picture], "shareWith": all})).await.ok();
        files.resolve(&mart, json!({"ids": [own], "shareWith": all})).await.ok();
        let body = json!({"ids": [paper, picture, own], "unshareWith": all});
        let seen = files.resolve(&mart, body.clone()).await.ok();
        assert_eq!(seen[0]["organisations"], json!(["mart", "*"]));
        assert_eq!(seen[2]["organisations"], json!([]));
        assert_eq!(shared(&files, &paper).await, all);
        assert_eq!(shared(&files, &picture).await, all);
        // Archived files are missing and unchanged.
        files.archive(&farm, &picture).await.ok();
        let reply = files.resolve(&User::admin(), body).await;
        assert_eq!(reply.header("x-missing-ids"), picture);
        assert_eq!(reply.ok()[0]["organisations"], json!([]));
        assert_eq!(shared(&files, &picture).await, all);
    }

    async fn an_organisation_leaves_files_of_others(storage) {
        let files = start(storage).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let foreign = files.make(&farm, "contract", b"x").await;
        let own = files.make(&mart, "contract", b"own").await;
        files.resolve(&farm, json!({"ids": [foreign], "shareWith": ["mart", "haulier"]})).await.ok();
        files.resolve(&mart, json!({"ids": [own], "shareWith": ["mart", "haulier"]})).await.ok();
        let link = files.app.post(&format!("/v1/files/{foreign}/link")).by(&mart).json(&json!({})).send().await.ok();
        let link = link["url"].as_str().unwrap();
        let link = &link[link.find("/v1/public/files/").unwrap()..];
        assert_eq!(files.app.get(link).send().await.status, 200);
        // Who has no part in it and who may not read it change nothing.
        for user in [User::of("elsewhere"), User::individual("dai")] {
            files.resolve(&user, json!({"ids": [foreign, own], "leave": true})).await.ok();
        }
        assert_eq!(shared(&files, &foreign).await, json!(["mart", "haulier"]));
        for _ in 0..2 {
            files.resolve(&mart, json!({"ids": [foreign, own], "leave": true, "unshareWith": ["mart"]})).await.ok();
            assert_eq!(shared(&files, &foreign).await, json!(["haulier"]));
            assert_eq!(shared(&files, &own).await, json!(["haulier"]));
        }
        assert_eq!(files.get(&mart, &foreign).await.error(403), "forbidden");
        assert_eq!(files.app.get(link).send().await.status, 403);
        assert_eq!(files.get(&mart, &own).await.status, 200);
    }

    async fn all_or_nothing_changes_nothing_if_a_file_is_missing(storage) {
        let files = start(storage).await;
        let mart = User::of("mart");
        let own = files.make(&mart, "misc", b"own").await;
        let foreign = files.make(&User::of("farm"), "misc", b"foreign").await;
        files.resolve(&mart, json!({"ids": [own], "shareWith": ["a"]})).await.ok();
        for missing in ["0198c0de-0000-7000-8000-000000000000", "nonsense", &foreign] {
            let ids = json!([own, missing]);
            let body = json!({"ids": ids, "shareWith": ["b"], "unshareWith": ["a"], "allOrNothing": true});
            assert_eq!(files.resolve(&mart, body).await.ok()[0]["organisations"], json!(["a"]), "{missing}");
            assert_eq!(shared(&files, &own).await, json!(["a"]), "{missing}");
        }
        let body = json!({"ids": [own], "shareWith": ["b"], "unshareWith": ["a"], "allOrNothing": true});
        assert_eq!(files.resolve(&mart, body).await.ok()[0]["organisations"], json!(["b"]));
    }

    async fn rejects_invalid_unshare_requests(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let id = files.make(&user, "misc", b"x").await;
        files.resolve(&user, json!({"ids": [id], "shareWith": ["a"]})).await.ok();
        for (share, unshare, errors) in [
            (json!([" a", "b"]), json!(["c", "b"]), &["unshareWith inconsistent"][..]),
            (json!("*"), json!(["*"]), &["unshareWith inconsistent"]),
            (json!(["*"]), json!("*"), &["unshareWith inconsistent"]),
            (json!("farm"), json!("farm"), &["shareWith enum", "unshareWith enum"]),
            (json!(["a"]), json!(5), &["unshareWith type"]),
            (json!(["a"]), json!(vec!["b"; 51]), &["unshareWith length"]),
            (json!(["a"]), json!(["b", "x".repeat(201)]), &["unshareWith[1] length"]),
            (json!(vec!["a"; 51]), json!([""]), &["shareWith length", "unshareWith[0] length"]),
            (json!(["b"]), json!(["a\0"]), &["unshareWith[0] format"]),
        ] {
            let body = json!({"ids": [id], "shareWith": share, "unshareWith": unshare});
            assert_eq!(files.resolve(&user, body.clone()).await.errors(), errors, "{body}");
        }
        assert_eq!(shared(&files, &id).await, json!(["a"]));
    }

    async fn late_retries_do_not_share_again(storage) {
        let files = start(storage).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let (id, own) = (files.make(&farm, "misc", b"x").await, files.make(&mart, "misc", b"y").await);
        let share = |share_id: &str| json!({"ids": [id, own], "shareWith": ["haulier"], "shareId": share_id});
        let sharing = async |user, body| files.resolve(user, body).await.ok()[0]["organisations"].clone();
        assert_eq!(sharing(&farm, share("s-1")).await, json!(["haulier"]));
        let swap = json!({"ids": [id], "shareWith": ["auction"], "unshareWith": ["haulier"], "shareId": "s-2"});
        assert_eq!(sharing(&farm, swap.clone()).await, json!(["auction"]));
        assert_eq!(sharing(&farm, share("s-1")).await, json!(["auction"]));
        assert_eq!(sharing(&farm, share("s-3")).await, json!(["auction", "haulier"]));
        // A retry unshares again.
        assert_eq!(sharing(&farm, swap).await, json!(["auction"]));
        // Of another caller it is another id.
        assert_eq!(sharing(&mart, share("s-1")).await, json!(["haulier"]));
        assert_eq!(shared(&files, &own).await, json!(["haulier"]));
        // A refused call does not use up its `shareId`.
        share_up_to_the_limit(&files, &farm, &id).await;
        assert_too_many(files.resolve(&farm, share("s-4")).await, &[&id]);
        files.resolve(&farm, json!({"ids": [id], "unshareWith": names(0..10)})).await.ok();
        let organisations = sharing(&farm, share("s-4")).await;
        assert!(organisations.as_array().unwrap().contains(&json!("haulier")), "{organisations}");
    }

    async fn limits_a_file_to_200_organisations(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let (full, other) = (files.make(&farm, "misc", b"x").await, files.make(&farm, "misc", b"y").await);
        let open = files.make(&User::of("mart"), "image", PNG).await;
        share(&files, &farm, &full, &names(0..199)).await;
        share(&files, &farm, &full, &["*".to_owned()]).await;
        share(&files, &User::of("mart"), &open, &names(0..200)).await;
        // One file over the limit: no file changes. Organisations that have access already count once.
        for (with, without) in [(json!(["more"]), json!([])), (json!(["org-0", "more"]), json!(["unknown"]))] {
            let body = json!({"ids": [other, full], "shareWith": with, "unshareWith": without});
            assert_too_many(files.resolve(&farm, body).await, &[&full]);
        }
        // The error lists all files over the limit, in request order.
        let second = files.make(&farm, "misc", b"z").await;
        share(&files, &farm, &second, &names(0..200)).await;
        let body = json!({"ids": [second, other, open, full], "shareWith": ["more"]});
        assert_too_many(files.resolve(&farm, body).await, &[&second, &full]);
        assert_eq!(shared(&files, &other).await, json!([]));
        assert_eq!(shared(&files, &full).await.as_array().unwrap().len(), 200);
        share(&files, &farm, &full, &names(0..199)).await;
        // Files of others do not count.
        files.resolve(&farm, json!({"ids": [open, other], "shareWith": ["more"]})).await.ok();
        assert_eq!(shared(&files, &other).await, json!(["more"]));
        // Unsharing in the same call makes room.
        let room = json!({"ids": [full], "shareWith": ["more"], "unshareWith": "*"});
        assert_eq!(files.resolve(&farm, room).await.ok()[0]["organisations"][199], "more");
        assert_too_many(files.resolve(&User::admin(), json!({"ids": [full], "shareWith": "*"})).await, &[&full]);
    }

    async fn concurrent_calls_respect_the_limit(storage) {
        let files = start(storage).await;
        let farm = User::of("farm");
        let id = files.make(&farm, "misc", b"x").await;
        share(&files, &farm, &id, &names(0..160)).await;
        let calls = (0..6).map(|i| {
            let with = names(1000 + 30 * i..1030 + 30 * i);
            let (files, farm, id) = (&files, &farm, &id);
            async move { files.resolve(farm, json!({"ids": [id], "shareWith": with})).await }
        });
        let replies = futures_util::future::join_all(calls).await;
        let (stored, others): (Vec<_>, Vec<_>) = replies.into_iter().partition(|reply| reply.status == 200);
        assert_eq!(stored.len(), 1);
        for reply in others {
            assert_too_many(reply, &[&id]);
        }
        assert_eq!(shared(&files, &id).await.as_array().unwrap().len(), 190);
    }
}

testkit::on_both! {
    async fn unshares_ids_that_were_stored_without_normalization(backend) {
        let files = start(backend).await;
        let farm = User::of("farm");
        let id = files.make(&farm, "misc", b"x").await;
        let longest = format!(" {} ", "x".repeat(198));
        let old = ["co\u{200b}op", " mart ", "\u{202e}x", "e\u{301}", "tab\tbed", " ", &longest];
        let all: Vec<_> = old.into_iter().chain(["mart", "coop", "\u{e9}"]).map(str::to_owned).collect();
        files.set_organisations(backend, &all);
        for (i, old) in old.iter().enumerate() {
            let remaining = files.resolve(&farm, json!({"ids": [id], "unshareWith": [old]})).await.ok();
            assert_eq!(remaining[0]["organisations"], json!(all[i + 1..]), "{old:?}");
        }
        // An id that is stored normalized matches any form of the id.
        for (other, remaining) in [("co\u{200b}op", vec!["mart", "coop", "\u{e9}"]), ("coop ", vec!["mart", "\u{e9}"]), ("e\u{301}", vec!["mart"])] {
            let reply = files.resolve(&farm, json!({"ids": [id], "unshareWith": [other]})).await.ok();
            assert_eq!(reply[0]["organisations"], json!(remaining), "{other:?}");
        }
        // One call replaces an id that was stored without normalization.
        files.set_organisations(backend, &[" mart ".to_owned()]);
        let replace = json!({"ids": [id], "shareWith": [" mart "], "unshareWith": [" mart "]});
        assert_eq!(files.resolve(&farm, replace).await.ok()[0]["organisations"], json!(["mart"]));
    }

    async fn files_from_before_the_limit_keep_their_organisations(backend) {
        let files = start(backend).await;
        let (farm, last) = (User::of("farm"), User::of("org-249"));
        let id = files.make(&farm, "misc", b"x").await;
        let all = names(0..250);
        files.set_organisations(backend, &names(0..3000));
        assert_eq!(shared(&files, &id).await, json!(names(0..3000)));
        files.set_organisations(backend, &all);
        // All organisations keep their access. The info operation lists all, the resolve operation the first 200.
        assert_eq!(files.info(&farm, &id).await.ok()["organisations"], json!(all));
        assert_eq!(files.resolve(&farm, json!({"ids": [id]})).await.ok()[0]["organisations"], json!(all[..200]));
        assert_eq!(files.info(&last, &id).await.ok()["organisations"], json!(["org-249"]));
        // The file cannot be shared with more organisations until it has fewer than 200.
        assert_too_many(files.resolve(&farm, json!({"ids": [id], "shareWith": ["more"], "unshareWith": ["org-1"]})).await, &[&id]);
        files.resolve(&farm, json!({"ids": [id], "shareWith": ["org-249"]})).await.ok();
        for batch in [&all[200..], &all[..1]] {
            files.resolve(&farm, json!({"ids": [id], "unshareWith": batch})).await.ok();
        }
        assert_eq!(files.info(&last, &id).await.error(403), "forbidden");
        files.resolve(&farm, json!({"ids": [id], "shareWith": ["more"]})).await.ok();
        let remaining = [&all[1..200], &["more".to_owned()]].concat();
        assert_eq!(files.info(&farm, &id).await.ok()["organisations"], json!(remaining));
    }
}
