//! The memory of decodes. Measures a service process.

use futures_util::future::join_all;
use jpeg_encoder::SamplingFactor;
use testkit::User;

use super::image_samples::{jpeg, jpeg_with, png};
use super::memory_usage::Process;
use super::{form, id, part};

/// Allowed growth in bytes for the copy of an image of 50 megapixels.
const MAX_GROWTH: u64 = 250 << 20;
/// Allowed growth for expensive copies one after the other: that of one, and what the allocator returns late.
const MAX_GROWTH_OF_EXPENSIVE: u64 = MAX_GROWTH + (100 << 20);
/// Allowed growth for 50 copies at once, each of an image of 12 megapixels: a decode for each core runs at a time.
const MAX_GROWTH_OF_MANY: u64 = 250 << 20;

/// A service in a folder.
fn start(folder: &tempfile::TempDir) -> Process {
    let url = format!("file://{}/files", folder.path().display());
    Process::start(folder.path(), &[("DROVER_SERVICE__STORE_URL", &url)])
}

async fn upload(service: &Process, content: Vec<u8>) -> String {
    let form = form("images", "image", "large").part("file", part(&content));
    let (client, token) = (reqwest::Client::new(), User::of("farm").token());
    let uploaded =
        client.post(format!("{}/v1/files", service.url)).bearer_auth(token).multipart(form).send().await;
    id(&uploaded.unwrap().json().await.unwrap())
}

async fn copy(service: &Process, id: &str, width: u32) -> usize {
    let (client, token) = (reqwest::Client::new(), User::of("farm").token());
    let url = format!("{}/v1/files/{id}?width={width}", service.url);
    let response = client.get(url).bearer_auth(token).header("Accept", "image/webp").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.headers()["content-type"], "image/webp");
    response.bytes().await.unwrap().len()
}

#[test]
fn an_image_of_50_megapixels_needs_bounded_memory() {
    for (name, content) in [
        ("JPEG", jpeg(10_000, 5_000, false)),
        ("progressive JPEG", jpeg(10_000, 5_000, true)),
        ("JPEG with colours of full resolution", jpeg_with(10_000, 5_000, false, SamplingFactor::F_1_1)),
        ("narrow JPEG", jpeg_with(2_500, 20_000, false, SamplingFactor::F_1_1)),
        ("narrow progressive JPEG", jpeg(2_000, 20_000, true)),
        ("PNG", png(10_000, 5_000, true)),
    ] {
        testkit::block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let service = start(&folder);
            let id = upload(&service, content).await;
            let before = service.peak_memory();
            copy(&service, &id, 1280).await;
            let after = service.peak_memory();
            println!("{name}: {} MiB before, {} MiB at most", before >> 20, after >> 20);
            assert!(after < before + MAX_GROWTH, "{name}: from {before} to {after}");
        });
    }
}

/// The service responds with the image itself.
#[test]
fn an_image_that_needs_more_memory_is_not_decoded() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let service = start(&folder);
        let content = jpeg_with(10_000, 5_000, true, SamplingFactor::F_1_1);
        let id = upload(&service, content.clone()).await;
        let before = service.peak_memory();
        let (client, token) = (reqwest::Client::new(), User::of("farm").token());
        let url = format!("{}/v1/files/{id}?width=640", service.url);
        let response = client.get(url).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), content);
        assert!(service.peak_memory() < before + (32 << 20));
    });
}

/// Each of these takes most of the memory that there is for all.
#[test]
fn expensive_images_are_decoded_one_at_a_time() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let service = start(&folder);
        let image = jpeg(10_000, 5_000, true);
        let mut ids = Vec::new();
        for n in 0..3 {
            ids.push(upload(&service, [&image[..], &[n]].concat()).await);
        }
        let before = service.peak_memory();
        let sizes = join_all(ids.iter().map(|id| copy(&service, id, 640))).await;
        assert!(sizes.iter().all(|size| *size > 100));
        let after = service.peak_memory();
        println!("3 expensive copies: {} MiB before, {} MiB at most", before >> 20, after >> 20);
        assert!(after < before + MAX_GROWTH_OF_EXPENSIVE, "from {before} to {after}");
    });
}

#[test]
fn many_copies_at_once_need_bounded_memory() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let service = start(&folder);
        let mut ids = Vec::new();
        let image = jpeg(4_000, 3_000, false);
        for n in 0..50 {
            // Other content, with the same pixels.
            ids.push(upload(&service, [&image[..], &[n]].concat()).await);
        }
        let before = service.peak_memory();
        let sizes = join_all(ids.iter().map(|id| copy(&service, id, 640))).await;
        assert!(sizes.iter().all(|size| *size > 100));
        let after = service.peak_memory();
        println!("50 copies: {} MiB before, {} MiB at most", before >> 20, after >> 20);
        assert!(after < before + MAX_GROWTH_OF_MANY, "from {before} to {after}");
    });
}
