//! Links to public images of the system service (docs/api/files.md, "Links").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Id;
use parking_lot::Mutex;
use serde::Deserialize;
use tokio::time::timeout_at;

use super::client::SystemClient;
use super::public::PublicCall;

/// The most files of one call: as many as system takes.
const MAX_IDS: usize = 50;
/// How long calls are made for one request. The largest page, 100 listings with 50 files each, takes 100 calls. Images
/// beyond the time get links with the next requests.
const MAX_TIME: Duration = Duration::from_secs(5);
/// The shortest time between two calls of this process. It is half the rate that `deploy/settings/system.toml` admits,
/// so the other half is left for looking places up.
const PACE: Duration = Duration::from_millis(40);
/// How long a link is given out. System makes links that are valid for two hours, so it is valid for another hour.
const LINK_AGE: Duration = Duration::from_secs(3600);
/// How long it is remembered that a file has no link, because it is no public image.
const MISSING_AGE: Duration = Duration::from_secs(60);
/// The most files that are remembered: about 20 MB.
const MAX_REMEMBERED: usize = 10_000;
/// The widths of the smaller images that get a link of their own.
const WIDTHS: &str = "160,320,640,1280";

/// A client for links to public images.
pub struct ImageLinkClient {
    files: Arc<SystemClient>,
    remembered: Mutex<HashMap<Id, Remembered>>,
    /// When the next call may be made.
    next_call: tokio::sync::Mutex<tokio::time::Instant>,
}

/// What the system service said of a file.
struct Remembered {
    /// `None` if the file is no public image.
    links: Option<Arc<ImageLinks>>,
    since: Instant,
}

/// The links to a public image.
#[derive(Debug, Deserialize)]
pub struct ImageLinks {
    /// The image as it is.
    pub url: String,
    /// The smaller images, by their width in pixels. Empty if the system service is an older one.
    #[serde(default)]
    pub urls: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct LinksOfFile {
    id: Id,
    #[serde(flatten)]
    links: ImageLinks,
}

impl Remembered {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < if self.links.is_some() { LINK_AGE } else { MISSING_AGE }
    }
}

impl ImageLinkClient {
    /// Creates a client that makes its calls through this one.
    pub fn new(files: Arc<SystemClient>) -> Self {
        let next_call = tokio::sync::Mutex::new(tokio::time::Instant::now());
        Self { files, remembered: Mutex::default(), next_call }
    }

    /// Returns links to those of these files that are images that every caller may download. They are valid for at
    /// least an hour. Makes calls one after another, of a second each, for up to five seconds. Images are missing while
    /// the system service is unavailable.
    pub async fn find(&self, by: &PublicCall, ids: &[Id]) -> HashMap<Id, Arc<ImageLinks>> {
        let (mut found, mut unknown) = (HashMap::new(), Vec::new());
        {
            let remembered = self.remembered.lock();
            for id in ids {
                match remembered.get(id).filter(|file| file.is_fresh()) {
                    Some(file) => found.extend(file.links.clone().map(|links| (*id, links))),
                    None => unknown.push(*id),
                }
            }
        }
        unknown.sort_unstable();
        unknown.dedup();
        let end = tokio::time::Instant::now() + MAX_TIME;
        for ids in unknown.chunks(MAX_IDS) {
            if timeout_at(end, self.wait_for_turn()).await.is_err() {
                break;
            }
            match self.read(by, ids).await {
                Ok(links) => {
                    found.extend(links.iter().map(|(id, links)| (*id, links.clone())));
                    self.remember(ids, links);
                }
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "links to images cannot be read");
                    break;
                }
            }
        }
        found
    }

    /// Waits until this process may make another call. Requests take turns.
    async fn wait_for_turn(&self) {
        let mut next = self.next_call.lock().await;
        tokio::time::sleep_until(*next).await;
        *next = tokio::time::Instant::now() + PACE;
    }

    async fn read(&self, by: &PublicCall, ids: &[Id]) -> anyhow::Result<HashMap<Id, Arc<ImageLinks>>> {
        let list = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let parameters = [("ids", list.as_str()), ("widths", WIDTHS)];
        let found = self.files.get(by, "/v1/public/images/links", &parameters).await?;
        // 404: the system service is an older one, or gives no links to visitors.
        let found: Vec<LinksOfFile> = found.map_or(Ok(Vec::new()), serde_json::from_value)?;
        Ok(found.into_iter().map(|found| (found.id, Arc::new(found.links))).collect())
    }

    fn remember(&self, ids: &[Id], mut links: HashMap<Id, Arc<ImageLinks>>) {
        let since = Instant::now();
        let mut remembered = self.remembered.lock();
        if remembered.len() + ids.len() > MAX_REMEMBERED {
            remembered.retain(|_, link| link.is_fresh());
        }
        if remembered.len() + ids.len() > MAX_REMEMBERED {
            remembered.clear();
        }
        remembered.extend(ids.iter().map(|id| (*id, Remembered { links: links.remove(id), since })));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use wiremock::matchers::path;
    use wiremock::{Mock, MockServer, Request, ResponseTemplate};

    use super::*;

    /// 100 listings with 6 images each, of which some are remembered when others fill the memory.
    #[test]
    fn a_page_of_many_images_is_complete() {
        testkit::block_on(async {
            let server = MockServer::start().await;
            let respond = |request: &Request| {
                let ids = request.url.query_pairs().find(|(name, _)| name == "ids").unwrap().1.into_owned();
                let links = ids.split(',').map(|id| json!({"id": id, "url": format!("https://images/{id}")}));
                ResponseTemplate::new(200).set_body_json(links.collect::<Vec<_>>())
            };
            Mock::given(path("/v1/public/images/links")).respond_with(respond).mount(&server).await;
            let client = ImageLinkClient::new(Arc::new(SystemClient::new(&server.uri()).unwrap()));
            let new_ids = |count: usize| std::iter::repeat_with(Id::new).take(count).collect::<Vec<_>>();
            let (by, ids) = (PublicCall::background("a", "1"), new_ids(600));
            client.find(&by, &ids[..10]).await;
            client.remember(&new_ids(MAX_REMEMBERED - 100), HashMap::new());
            let found = client.find(&by, &ids).await;
            assert!(ids.iter().all(|id| found[id].url == format!("https://images/{id}")));
            assert_eq!(client.find(&by, &ids).await.len(), 600);
        });
    }
}
