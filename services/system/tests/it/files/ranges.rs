//! Downloads of ranges.

use testkit::{TestResponse, User};

use super::{Files, noise, on_all, start};

async fn get_with(files: &Files, id: &str, headers: &[(&str, &str)]) -> TestResponse {
    let call = files.app.get(&format!("/v1/files/{id}")).by(&User::of("farm"));
    headers.iter().fold(call, |call, (name, value)| call.header(name, value)).send().await
}

on_all! {
    async fn returns_one_range(storage) {
        let files = start(storage).await;
        // Ranges within one chunk, over several chunks, and across a chunk boundary.
        let content = noise(3_000_000);
        let id = files.make(&User::of("farm"), "misc", &content).await;
        for (range, first, last) in [
            ("bytes=0-0", 0, 0),
            ("bytes=10-19", 10, 19),
            ("bytes=1048000-1049000", 1_048_000, 1_049_000),
            ("bytes=100-2999999", 100, 2_999_999),
            ("bytes=2999000-", 2_999_000, 2_999_999),
            ("bytes=2999000-99999999", 2_999_000, 2_999_999),
            ("bytes=-500", 2_999_500, 2_999_999),
            ("bytes=-99999999", 0, 2_999_999),
        ] {
            let reply = get_with(&files, &id, &[("range", range)]).await;
            assert_eq!(reply.status, 206, "{range}");
            assert_eq!(reply.header("content-range"), format!("bytes {first}-{last}/3000000"));
            assert_eq!(reply.header("content-length"), (last - first + 1).to_string());
            assert_eq!(reply.header("content-type"), "application/octet-stream");
            assert!(reply.bytes == content[first..=last], "{range}");
        }
    }

    async fn head_ignores_ranges(storage) {
        let files = start(storage).await;
        let id = files.make(&User::of("farm"), "misc", b"0123456789").await;
        let head = files.app.call("HEAD", &format!("/v1/files/{id}")).by(&User::of("farm")).header("range", "bytes=0-1");
        let reply = head.send().await;
        assert_eq!((reply.status, reply.header("content-length")), (200, "10"));
        assert_eq!(reply.header("content-encoding"), "");
    }

    async fn rejects_ranges_outside_the_content(storage) {
        let files = start(storage).await;
        let id = files.make(&User::of("farm"), "misc", b"0123456789").await;
        for range in ["bytes=10-", "bytes=10-12", "bytes=-0"] {
            let reply = get_with(&files, &id, &[("range", range)]).await;
            assert_eq!(reply.header("content-range"), "bytes */10");
            assert_eq!(reply.error(416), "range_not_satisfiable", "{range}");
        }
    }

    async fn ignores_lists_and_invalid_ranges(storage) {
        let files = start(storage).await;
        let id = files.make(&User::of("farm"), "misc", b"0123456789").await;
        for range in ["bytes=0-1,3-4", "bytes=0-1,x", "bytes=5-2", "bytes=a-b", "bytes=", "lines=1-2", "0-1"] {
            let reply = get_with(&files, &id, &[("range", range)]).await;
            assert_eq!((reply.status, reply.text().as_str()), (200, "0123456789"), "{range}");
            assert_eq!(reply.header("content-range"), "");
        }
    }

    async fn if_range_requires_the_same_version(storage) {
        let files = start(storage).await;
        let id = files.make(&User::of("farm"), "misc", b"0123456789").await;
        let whole = get_with(&files, &id, &[]).await;
        let (tag, modified) = (whole.header("etag"), whole.header("last-modified"));
        for (condition, status) in [
            (tag, 206),
            (modified, 206),
            ("\"other\"", 200),
            (&format!("W/{tag}"), 200),
            ("Mon, 01 Jan 2024 00:00:00 GMT", 200),
            ("nonsense", 200),
        ] {
            let reply = get_with(&files, &id, &[("range", "bytes=2-3"), ("if-range", condition)]).await;
            assert_eq!(reply.status, status, "{condition}");
        }
    }
}
