//! Links to public images of the system service (docs/api/files.md, "Links").

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Id;
use parking_lot::Mutex;
use serde::Deserialize;

use super::client::SystemClient;
use super::public::PublicCall;

/// The most files of one call.
const MAX_IDS: usize = 50;
/// The most calls for one request. Images beyond them get links with the next requests.
const MAX_CALLS: usize = 10;
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
        Self { files, remembered: Mutex::default() }
    }

    /// Returns links to those of these files that are images that every caller may download. They are valid for at
    /// least an hour. Makes up to ten calls of a second each. Images are missing while the system service is
    /// unavailable.
    pub async fn find(&self, by: &PublicCall, ids: &[Id]) -> HashMap<Id, Arc<ImageLinks>> {
        let mut unknown: Vec<_> = {
            let remembered = self.remembered.lock();
            let is_known = |id: &Id| remembered.get(id).is_some_and(Remembered::is_fresh);
            ids.iter().copied().filter(|id| !is_known(id)).collect()
        };
        unknown.sort_unstable();
        unknown.dedup();
        for ids in unknown.chunks(MAX_IDS).take(MAX_CALLS) {
            match self.read(by, ids).await {
                Ok(links) => self.remember(ids, links),
                Err(error) => {
                    tracing::warn!(error = format!("{error:#}"), "links to images cannot be read");
                    break;
                }
            }
        }
        let remembered = self.remembered.lock();
        let link = |id: &Id| Some((*id, remembered.get(id).filter(|link| link.is_fresh())?.links.clone()?));
        ids.iter().filter_map(link).collect()
    }

    async fn read(&self, by: &PublicCall, ids: &[Id]) -> anyhow::Result<Vec<LinksOfFile>> {
        let list = ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        let parameters = [("ids", list.as_str()), ("widths", WIDTHS)];
        let found = self.files.get(by, "/v1/public/images/links", &parameters).await?;
        // 404: the system service is an older one, or gives no links to visitors.
        Ok(found.map_or(Ok(Vec::new()), serde_json::from_value)?)
    }

    fn remember(&self, ids: &[Id], links: Vec<LinksOfFile>) {
        let mut links: HashMap<_, _> =
            links.into_iter().map(|found| (found.id, Arc::new(found.links))).collect();
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
