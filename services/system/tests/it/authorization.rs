//! The authorization matrix: one row for each operation.

use reqwest::multipart::Form;
use serde_json::json;
use testkit::{AccessCase, AccessRule, User};

use crate::files::{form, id, part, start};

/// Operations without token. Each exists twice.
const OPEN: [&str; 6] = [
    "find_location_by_words",
    "find_location_by_address",
    "find_location_by_coordinates",
    "search_addresses",
    "list_countries",
    "list_regions",
];

/// Returns an upload for the organisation `farm`.
fn farm_upload() -> Form {
    form("files", "contract", "x").text("organisationId", "farm").part("file", part(b"x"))
}

testkit::on_both! {
    async fn operations_enforce_access_rules(backend) {
        let files = start(backend).await;
        // The uploader acting for the file's organisation, another member of that organisation, and an administrator.
        let (ann, farm, admin) = (User::of("farm").with("sub", "ann"), User::of("farm"), User::admin());
        // The uploader acting for another organisation or for none, without rights on the file.
        let (elsewhere, alone) = (User::of("other").with("sub", "ann"), User::individual("ann"));
        // The organisation that the file is shared with.
        let haulier = User::of("haulier");
        let mut ids = Vec::new();
        for name in ["secret paper", "b", "c", "d", "secret paper"] {
            let form = form("files", "contract", name).text("organisations", "haulier").part("file", part(b"x"));
            ids.push(id(&files.upload(&ann, form).await.ok()));
        }
        let own = [&ann, &farm, &admin];
        let path = |n: usize| format!("/v1/files/{}", ids[n]);
        let info = |n: usize| format!("{}/info", path(n));
        let readers = |path: String| {
            let case = AccessCase::new(path, &[&ann, &farm, &admin, &haulier]);
            case.denies(&elsewhere).denies(&alone)
        };
        let archive = |n: usize, user| {
            let case = AccessCase::new(path(n), &[user]).leaves_unchanged(info(n));
            case.denies(&haulier).denies(&elsewhere).denies(&alone)
        };
        let resolve = |may: &[&User]| AccessCase::new("/v1/files/resolve", may).discloses("secret paper");
        let share = json!({"ids": [ids[4]], "shareWith": ["*", "stranger"]});
        let unshare = json!({"ids": [ids[4]], "unshareWith": ["haulier"]});
        let mut accounts = Vec::new();
        for _ in 0..3 {
            let form = json!({"name": "secret account"});
            let account = files.app.post("/v1/service-accounts").by(&farm).json(&form).send().await.ok();
            accounts.push(format!("/v1/service-accounts/{}", account["id"].as_str().unwrap()));
        }
        // Colleagues manage the accounts of their organisation.
        let managed = |path: String| {
            let case = AccessCase::new(path, &[&ann, &farm, &admin]).denies(&haulier).denies(&elsewhere);
            case.denies(&alone).leaves_unchanged(&accounts[0])
        };
        let delete = |(path, user): (&String, &User)| {
            let case = AccessCase::new(path, &[user]).denies(&haulier).denies(&elsewhere).denies(&alone);
            case.leaves_unchanged(path).removes()
        };
        let public = OPEN.map(|id| format!("{id}_public"));
        let mut rules = vec![
            ("upload_file", AccessRule::Restricted(vec![
                AccessCase::new("/v1/files", &[&ann, &farm, &admin]).form(farm_upload)
                    .denies(&haulier).denies(&elsewhere),
            ])),
            ("download_file", AccessRule::Restricted(vec![readers(path(0))])),
            ("find_file", AccessRule::Restricted(vec![readers(info(0))])),
            ("create_link", AccessRule::Restricted(vec![readers(format!("{}/link", path(0)))])),
            ("create_links", AccessRule::Scoped(vec![
                AccessCase::new("/v1/files/links", &[&ann, &farm, &admin, &haulier])
                    .discloses("/v1/public/files/").denies(&elsewhere).denies(&alone).json(json!({"ids": [ids[0]]})),
            ])),
            ("find_storage_usage", AccessRule::AnyCaller("the response is about the caller's own files")),
            ("download_file_public", AccessRule::Signed),
            ("list_image_links_public", AccessRule::Public),
            // Files that are shared with an organisation are not among its own.
            ("list_files", AccessRule::Scoped(vec![
                AccessCase::new("/v1/files", &[&ann, &farm, &admin]).discloses("secret paper")
                    .denies(&haulier).denies(&elsewhere).denies(&alone),
                AccessCase::new("/v1/files?f:organisationId=farm", &[&ann, &farm, &admin]).discloses("secret paper")
                    .denies(&haulier).denies(&elsewhere).denies(&alone),
            ])),
            ("archive_file", AccessRule::Restricted(vec![
                archive(1, &farm), archive(2, &ann), archive(3, &admin),
            ])),
            // Files that the caller may not read are omitted. Callers who may only read a file cannot share it.
            ("resolve_files", AccessRule::Scoped(vec![
                resolve(&[&ann, &haulier]).denies(&elsewhere).denies(&alone).json(json!({"ids": [ids[0]]})),
                resolve(&[&haulier]).denies(&elsewhere).json(share.clone()).leaves_unchanged(info(4)),
                resolve(&[&haulier]).denies(&elsewhere).json(unshare.clone()).leaves_unchanged(info(4)),
                resolve(&own).denies(&elsewhere).json(json!({"ids": [ids[0]], "shareWith": ["haulier"]}))
                    .leaves_unchanged(info(0)),
                resolve(&own).json(unshare).leaves_unchanged(info(4)),
                resolve(&own).json(share).leaves_unchanged(info(4)),
            ])),
            ("create_token", AccessRule::Public),
            ("create_service_account", AccessRule::Member),
            ("list_service_accounts", AccessRule::Scoped(vec![
                AccessCase::new("/v1/service-accounts", &[&ann, &farm, &admin]).discloses("secret account")
                    .denies(&haulier).denies(&elsewhere).denies(&alone),
            ])),
            ("find_service_account", AccessRule::Restricted(vec![managed(accounts[0].clone())])),
            ("update_service_account", AccessRule::Restricted(vec![
                managed(accounts[0].clone()).json(json!({"name": "edited", "roles": ["viewer"]})),
            ])),
            ("rotate_service_account_secret", AccessRule::Restricted(vec![
                managed(format!("{}/rotate-secret", accounts[0])),
            ])),
            ("delete_service_account", AccessRule::Restricted(
                accounts[1..].iter().zip([&farm, &admin]).map(delete).collect(),
            )),
            ("clear_cache", AccessRule::Admin),
            ("export_personal_data", AccessRule::Admin),
            ("erase_personal_data", AccessRule::Admin),
            ("find_settings", AccessRule::Admin),
            ("update_settings", AccessRule::Admin),
        ];
        rules.extend(OPEN.into_iter().chain(public.iter().map(String::as_str)).map(|id| (id, AccessRule::Public)));
        testkit::assert_access_rules(&files.app, rules).await;
    }
}
