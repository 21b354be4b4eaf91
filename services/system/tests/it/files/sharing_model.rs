//! Compares random sequences of sharing, unsharing, leaving, archiving and linking with a plain model: after each step,
//! which files each caller finds and with which organisations, and which links work; at the end also downloads,
//! information and lists. Owners, their colleagues, organisations, a user without one and an administrator take turns.

use std::collections::{BTreeMap, BTreeSet};

use rand::rngs::StdRng;
use rand::seq::{IndexedRandom, IteratorRandom};
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::User;

use super::{Files, PNG, form, id, part, start};

const STEPS: usize = 12;
/// The first two are users of the organisation `farm`, `dai` has none, and the others are users of their own.
const ACTORS: [&str; 7] = ["ann", "bob", "haul", "mart", "mill", "dai", "admin"];
/// Those who upload files.
const OWNERS: [&str; 5] = ["ann", "ann", "haul", "dai", "admin"];
const SHARED_WITH: [&str; 5] = ["farm", "haul", "mart", "other", "*"];

fn user(actor: &str) -> User {
    match (actor, organisation(actor)) {
        ("admin", _) => User::admin(),
        (_, Some(organisation)) => User::of(organisation).with("sub", actor),
        (_, None) => User::individual(actor),
    }
}

fn organisation(actor: &str) -> Option<&str> {
    match actor {
        "ann" | "bob" => Some("farm"),
        "dai" | "admin" => None,
        organisation => Some(organisation),
    }
}

#[derive(Debug)]
struct File {
    id: String,
    owner: &'static str,
    /// Every caller may read a file of its type.
    is_open: bool,
    is_image: bool,
    content: Vec<u8>,
    organisations: Vec<String>,
    is_archived: bool,
}

impl File {
    fn is_own_of(&self, actor: &str) -> bool {
        let owner = organisation(self.owner);
        actor == "admin" || organisation(actor) == owner && (owner.is_some() || actor == self.owner)
    }

    /// Returns the organisations that include an actor.
    fn including(&self, actor: &str) -> Vec<String> {
        let includes = |shared: &&String| *shared == "*" || Some(shared.as_str()) == organisation(actor);
        self.organisations.iter().filter(includes).cloned().collect()
    }

    fn is_readable_by(&self, actor: &str) -> bool {
        self.is_open || self.is_own_of(actor) || !self.including(actor).is_empty()
    }

    /// Returns the organisations that an actor sees.
    fn seen_by(&self, actor: &str) -> Vec<String> {
        if self.is_own_of(actor) { self.organisations.clone() } else { self.including(actor) }
    }

    /// Returns the status of a download, or of one by a link that the actor made.
    fn download_status(&self, actor: &str, is_link: bool) -> u16 {
        if self.is_archived && (is_link || actor != "admin") {
            404
        } else if self.is_readable_by(actor) {
            200
        } else {
            403
        }
    }
}

#[derive(Debug)]
struct Link {
    file: usize,
    maker: &'static str,
    path: String,
}

#[derive(Debug, Default)]
struct Model {
    files: Vec<File>,
    links: Vec<Link>,
    /// The sharings of each actor that are not repeated.
    share_ids: BTreeSet<(&'static str, String)>,
    log: Vec<String>,
}

/// Returns some of these organisations.
fn some(random: &mut StdRng, of: &[&'static str]) -> Vec<&'static str> {
    let count = random.random_range(0..=2);
    of.iter().copied().sample(random, count)
}

impl Model {
    async fn upload(&mut self, files: &Files, random: &mut StdRng, name: &str) {
        let owner = *OWNERS.choose(random).unwrap();
        let (is_open, is_image) = (random.random_bool(0.25), random.random());
        let kind = if is_open { "vehicle" } else { "contract" };
        let organisations = some(random, &SHARED_WITH);
        let number = self.files.len();
        let content = if is_image { PNG.to_vec() } else { format!("{name} {number}").into_bytes() };
        let form = form("files", kind, name).text("organisations", organisations.join(","));
        let record = files.upload(&user(owner), form.part("file", part(&content))).await.ok();
        let organisations = organisations.into_iter().map(str::to_owned).collect();
        let (id, is_archived) = (id(&record), false);
        self.log.push(format!("{owner} uploads {id}: {kind} {organisations:?}"));
        self.files.push(File { id, owner, is_open, is_image, content, organisations, is_archived });
    }

    /// Shares, unshares or leaves some of the files, and compares the response.
    async fn share(&mut self, files: &Files, random: &mut StdRng) {
        let actor = *ACTORS.choose(random).unwrap();
        let share = some(random, &SHARED_WITH);
        let mut unshare = some(random, &SHARED_WITH);
        unshare.retain(|organisation| !share.contains(organisation));
        let (leave, all_or_nothing) = (random.random_bool(0.3), random.random_bool(0.2));
        let share_id =
            random.random_bool(0.5).then(|| format!("{}-{}", self.files[0].id, random.random_range(0..3)));
        let asked: Vec<usize> = (0..self.files.len()).filter(|_| random.random_bool(0.6)).collect();
        if asked.is_empty() {
            return;
        }
        let ids: Vec<_> = asked.iter().map(|n| self.files[*n].id.clone()).collect();
        let body = json!({
            "ids": ids, "shareWith": share, "unshareWith": unshare, "leave": leave, "allOrNothing": all_or_nothing,
            "shareId": share_id,
        });
        self.log.push(format!("{actor} resolves {body}"));
        let is_found = |n: &usize| !self.files[*n].is_archived && self.files[*n].is_readable_by(actor);
        let found: Vec<usize> = asked.iter().copied().filter(is_found).collect();
        if !(all_or_nothing && found.len() < asked.len()) {
            let is_first = match share_id {
                Some(share_id) if !share.is_empty() => self.share_ids.insert((actor, share_id)),
                _ => true,
            };
            for n in &found {
                let file = &mut self.files[*n];
                if file.is_own_of(actor) {
                    file.organisations.retain(|known| !unshare.contains(&known.as_str()));
                    for organisation in share.iter().filter(|_| is_first) {
                        if !file.organisations.iter().any(|known| known == organisation) {
                            file.organisations.push((*organisation).to_owned());
                        }
                    }
                } else if leave {
                    file.organisations.retain(|known| Some(known.as_str()) != organisation(actor));
                }
            }
        }
        let found =
            found.iter().map(|n| (self.files[*n].id.clone(), self.files[*n].seen_by(actor))).collect();
        assert_eq!(resolved(files, actor, &body).await, found, "{self:#?}");
    }

    async fn step(&mut self, files: &Files, random: &mut StdRng) {
        let (actor, n) = (*ACTORS.choose(random).unwrap(), random.random_range(0..self.files.len()));
        let file = &mut self.files[n];
        match random.random_range(0..10) {
            0..=5 => self.share(files, random).await,
            6 => {
                self.log.push(format!("{actor} archives {}", file.id));
                let status = match (file.is_own_of(actor), file.is_archived) {
                    (false, _) => 403,
                    (true, true) => 409,
                    (true, false) => 200,
                };
                file.is_archived |= status == 200;
                assert_eq!(files.archive(&user(actor), &file.id).await.status, status, "{self:#?}");
            }
            7 => {
                // Links of the key before stay valid.
                let body = json!({"secrets": true});
                files.app.post("/v1/cache").by(&User::admin()).json(&body).send().await.ok();
            }
            _ => {
                self.log.push(format!("{actor} links {}", file.id));
                let link =
                    files.app.post(&format!("/v1/files/{}/link", file.id)).by(&user(actor)).send().await;
                assert_eq!(link.status, file.download_status(actor, true), "{self:#?}");
                if link.status == 200 {
                    let url = link.json()["url"].as_str().unwrap().to_owned();
                    let path = url[url.find("/v1/public/").unwrap()..].to_owned();
                    self.links.push(Link { file: n, maker: actor, path });
                }
            }
        }
    }

    /// Compares what each actor finds, and which links work.
    async fn compare(&self, files: &Files) {
        let ids: Vec<_> = self.files.iter().map(|file| &file.id).collect();
        for actor in ACTORS {
            let found = self.files.iter().filter(|file| !file.is_archived && file.is_readable_by(actor));
            let found = found.map(|file| (file.id.clone(), file.seen_by(actor))).collect();
            assert_eq!(resolved(files, actor, &json!({ "ids": ids })).await, found, "{actor}: {self:#?}");
        }
        for link in &self.links {
            let (file, reply) = (&self.files[link.file], files.app.get(&link.path).send().await);
            assert_eq!(reply.status, file.download_status(link.maker, true), "{link:?} {self:#?}");
            assert!(reply.status != 200 || reply.bytes == file.content, "{link:?}");
        }
        let path = format!(
            "/v1/public/images/links?ids={}",
            ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(",")
        );
        let public = files.app.get(&path).send().await.entries();
        let is_public = |file: &&File| {
            file.is_image && !file.is_archived && file.organisations.iter().any(|shared| shared == "*")
        };
        let expected = self.files.iter().filter(is_public).map(|file| &file.id);
        assert!(public.iter().map(|link| link["id"].as_str().unwrap()).eq(expected), "{public:?} {self:#?}");
    }

    /// Compares downloads, information, lists and links that were changed.
    async fn compare_at_end(&self, files: &Files, name: &str) {
        for actor in ACTORS {
            let user = user(actor);
            for file in &self.files {
                let download = files.get(&user, &file.id).await;
                assert_eq!(download.status, file.download_status(actor, false), "{actor} {self:#?}");
                assert!(download.status != 200 || download.bytes == file.content, "{actor} {self:#?}");
                let info = files.info(&user, &file.id).await;
                assert_eq!(
                    info.status,
                    if file.is_readable_by(actor) { 200 } else { 403 },
                    "{actor} {self:#?}"
                );
                if info.status == 200 {
                    let info = info.json();
                    let status = if file.is_archived { "archived" } else { "active" };
                    assert_eq!(
                        (&info["status"], &info["organisations"]),
                        (&json!(status), &json!(file.seen_by(actor)))
                    );
                }
            }
            let listed =
                files.app.get(&format!("/v1/files?limit=100&query={name}")).by(&user).send().await.entries();
            let listed: BTreeSet<_> = listed.iter().map(id).collect();
            let own = self.files.iter().filter(|file| file.is_own_of(actor)).map(|file| file.id.clone());
            assert_eq!(listed, own.collect(), "{actor} {self:#?}");
        }
        for link in &self.links {
            let changed = link.path.replace("expires=1", "expires=2");
            assert_eq!(files.app.get(&changed).send().await.status, 403, "{changed}");
        }
    }
}

/// Returns the files that an actor finds, with the organisations that it sees. The others must be named as missing.
async fn resolved(files: &Files, actor: &str, body: &Value) -> BTreeMap<String, Vec<String>> {
    let reply = files.resolve(&user(actor), body.clone()).await;
    let missing = reply.header("x-missing-ids").split(',').filter(|id| !id.is_empty()).count();
    let found: BTreeMap<_, _> = reply.entries().iter().map(|file| (id(file), organisations(file))).collect();
    assert_eq!(found.len() + missing, body["ids"].as_array().unwrap().len());
    found
}

fn organisations(file: &Value) -> Vec<String> {
    let listed = file["organisations"].as_array().unwrap().iter();
    listed.map(|organisation| organisation.as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let files = start(backend).await;
        let random = &mut StdRng::seed_from_u64(20_261_130);
        let (sequences, mut links, mut archived) = (testkit::model_sequences(12), 0, 0);
        for n in 0..sequences {
            let (name, mut model) = (format!("sequence{n}end"), Model::default());
            for _ in 0..3 {
                model.upload(&files, random, &name).await;
            }
            for _ in 0..STEPS {
                model.step(&files, random).await;
                model.compare(&files).await;
            }
            model.compare_at_end(&files, &name).await;
            links += model.links.len();
            archived += model.files.iter().filter(|file| file.is_archived).count();
        }
        println!("{sequences} sequences on {backend:?}: {links} links, {archived} files archived");
        assert!(links > sequences / 2 && archived > sequences / 5, "{links} links, {archived} archived");
    }
}
