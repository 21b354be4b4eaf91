//! Floods of decodes, with tokens and by links, while another tenant asks for smaller images.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;
use testkit::{Backend, User};

use super::image_samples::{jpeg, png};
use super::{Files, form, id, part, start};

/// How long another tenant may wait for a smaller image. Alone it takes some hundredths of a second; on a busy machine
/// this is a debug build beside a decode of the flood.
const MAX_WAIT: Duration = Duration::from_secs(3);

async fn upload(files: &Files, user: &User, kind: &str, content: &[u8]) -> String {
    id(&files.upload(user, form("images", kind, "a.jpg").part("file", part(content))).await.ok())
}

/// Returns the path of a link to a smaller image.
async fn link(files: &Files, user: &User, file: &str) -> String {
    let path = format!("/v1/files/{file}/link");
    let link = files.app.post(&path).by(user).json(&json!({"width": 1280})).send().await.ok();
    let url = link["url"].as_str().unwrap();
    url[url.find("/v1/public").unwrap()..].to_owned()
}

#[test]
fn links_and_tokens_of_an_organisation_share_its_decodes() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite).await;
        let (farm, mart) = (User::of("farm"), User::of("mart"));
        let large = jpeg(4_000, 3_000, false);
        let (mut paths, mut own) = (Vec::new(), Vec::new());
        for n in 0..40u8 {
            // Other contents, with the same pixels. Files of this type are readable for all: links of the farm to files
            // of the mart count for the farm.
            let owner = if n % 2 == 0 { &farm } else { &mart };
            let file = upload(&files, owner, "image", &[&large[..], &[n]].concat()).await;
            paths.push((link(&files, &farm, &file).await, false));
            paths.push((format!("/v1/files/{file}?width=640"), true));
        }
        for n in 0..6 {
            own.push(upload(&files, &mart, "misc", &jpeg(640 + n * 8, 400, false)).await);
        }
        let flood = join_all(paths.iter().map(|(path, has_token)| {
            let request = files.app.get(path);
            if *has_token { request.by(&farm).send() } else { request.send() }
        }));
        let others = async {
            let mut slowest = Duration::ZERO;
            for file in &own {
                tokio::time::sleep(Duration::from_millis(200)).await;
                let began = Instant::now();
                let copy = files.app.get(&format!("/v1/files/{file}?width=160")).by(&mart).send().await;
                assert_eq!(copy.status, 200, "{}", copy.text());
                slowest = slowest.max(began.elapsed());
            }
            slowest
        };
        let (responses, slowest) = tokio::join!(flood, others);
        println!("slowest smaller image of the other tenant: {slowest:?}");
        assert!(slowest < MAX_WAIT, "{slowest:?}");
        let refused = responses.iter().filter(|response| response.status == 429).count();
        let made = responses.iter().filter(|response| response.status == 200).count();
        // How many are refused depends on how many were made before the last ones arrived.
        assert!(made > 0 && refused > 0, "{made} made, {refused} refused");
        assert_eq!(made + refused, responses.len());
        let one = responses.into_iter().find(|response| response.status == 429).unwrap();
        assert_eq!(one.header("retry-after"), "1");
        assert_eq!(one.error(429), "rate_limited");
    });
}

/// All copies of a crafted image, which is small and has large copies, take less than what was uploaded.
#[test]
fn copies_take_less_than_was_uploaded() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite).await;
        let farm = User::of("farm");
        for content in [png(20, 16_000, false), png(1_000, 40_000, true), jpeg(16, 12_000, false)] {
            let file = upload(&files, &farm, "misc", &content).await;
            let before = files.stored_bytes().await;
            for width in [160, 320, 640, 1280] {
                for accept in ["image/webp", "image/jpeg", "image/png"] {
                    let path = format!("/v1/files/{file}?width={width}");
                    let copy = files.app.get(&path).by(&farm).header("Accept", accept).send().await;
                    assert_eq!(copy.status, 200);
                }
            }
            let copies = files.stored_bytes().await - before;
            println!("{} bytes uploaded, {copies} bytes of copies", content.len());
            assert!(copies < content.len() as u64 * 8, "{copies}");
        }
    });
}
