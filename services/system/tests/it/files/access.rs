//! Who may read which files (`docs/api/authentication.md`, "Permissions").

use serde_json::json;
use testkit::User;

use super::{PNG, form, id, part, start};

testkit::on_both! {
    async fn every_caller_may_read_open_types(backend) {
        let files = start(backend).await;
        let (owner, stranger) = (User::of("farm"), User::of("stranger"));
        for kind in ["sample", "avatar", "image", "logo", "vehicle", "terms-conditions"] {
            let id = files.make(&owner, kind, PNG).await;
            for user in [&stranger, &User::individual("ann")] {
                assert_eq!(files.get(user, &id).await.status, 200, "{kind}");
                assert_eq!(files.info(user, &id).await.status, 200, "{kind}");
            }
        }
    }

    async fn restricted_types_are_readable_by_owner_and_shared_organisations(backend) {
        let files = start(backend).await;
        for kind in ["weighbridge", "contract", "trade-contract", "misc"] {
            let uploader = User::of("farm").with("sub", "ann");
            let form = form("files", kind, "x").text("organisations", "haulier").part("file", part(PNG));
            let id = id(&files.upload(&uploader, form).await.ok());
            for user in [&uploader, &User::of("farm"), &User::of("haulier"), &User::admin()] {
                assert_eq!(files.get(user, &id).await.status, 200, "{kind}");
                assert_eq!(files.info(user, &id).await.status, 200, "{kind}");
            }
            for user in [&User::of("stranger"), &User::individual("bob")] {
                assert_eq!(files.get(user, &id).await.error(403), "forbidden", "{kind}");
                assert_eq!(files.info(user, &id).await.error(403), "forbidden", "{kind}");
            }
        }
    }

    async fn uploader_rights_require_the_organisation_of_the_file(backend) {
        let files = start(backend).await;
        let ann = User::of("farm").with("sub", "ann");
        let (elsewhere, alone) = (User::of("other").with("sub", "ann"), User::individual("ann"));
        let farms = files.make(&ann, "contract", PNG).await;
        let own = files.make(&alone, "contract", PNG).await;
        let open = files.make(&ann, "image", PNG).await;
        for (id, may, others) in [(&farms, &ann, [&elsewhere, &alone]), (&own, &alone, [&elsewhere, &ann])] {
            for user in others {
                assert_eq!(files.get(user, id).await.error(403), "forbidden");
                assert_eq!(files.info(user, id).await.error(403), "forbidden");
                assert_eq!(files.archive(user, id).await.error(403), "forbidden");
                let share = files.resolve(user, json!({"ids": [id], "shareWith": ["other"]})).await;
                assert_eq!(share.header("x-missing-ids"), *id);
            }
            assert_eq!(files.info(may, id).await.ok()["organisations"], json!([]));
            assert_eq!(files.get(may, id).await.status, 200);
        }
        // Every caller may read an open type, but not share or archive it.
        for user in [&elsewhere, &alone] {
            assert_eq!(files.get(user, &open).await.status, 200);
            files.resolve(user, json!({"ids": [open], "shareWith": ["other"]})).await.ok();
            assert_eq!(files.archive(user, &open).await.error(403), "forbidden");
        }
        assert_eq!(files.info(&ann, &open).await.ok()["organisations"], json!([]));
        // Another caller without an organisation has no rights to it.
        assert_eq!(files.archive(&User::individual("bob"), &own).await.error(403), "forbidden");
        assert_eq!(files.archive(&alone, &own).await.status, 200);
        assert_eq!(files.archive(&ann, &farms).await.status, 200);
    }

    async fn other_callers_see_only_their_own_organisation_and_star(backend) {
        let files = start(backend).await;
        let ann = User::of("farm").with("sub", "ann");
        let upload = async |kind, organisations: &'static str| {
            let form = form("files", kind, "x").text("organisations", organisations).part("file", part(PNG));
            id(&files.upload(&ann, form).await.ok())
        };
        let shown = async |user: &User, id: &str| {
            let info = files.info(user, id).await.ok()["organisations"].clone();
            let resolved = files.resolve(user, json!({"ids": [id]})).await.ok();
            assert_eq!(resolved[0]["organisations"], info);
            info
        };
        let paper = upload("contract", "haulier,mart,*").await;
        let (haulier, stranger, elsewhere) =
            (User::of("haulier"), User::of("stranger"), User::of("other").with("sub", "ann"));
        for user in [&ann, &User::of("farm"), &User::admin()] {
            assert_eq!(shown(user, &paper).await, json!(["haulier", "mart", "*"]));
        }
        assert_eq!(shown(&haulier, &paper).await, json!(["haulier", "*"]));
        for user in [&stranger, &elsewhere, &User::individual("ann")] {
            assert_eq!(shown(user, &paper).await, json!(["*"]));
        }
        let picture = upload("image", "haulier,mart").await;
        assert_eq!(shown(&ann, &picture).await, json!(["haulier", "mart"]));
        assert_eq!(shown(&haulier, &picture).await, json!(["haulier"]));
        assert_eq!(shown(&stranger, &picture).await, json!([]));
        // A change that the caller may not make shows no more.
        let share = files.resolve(&stranger, json!({"ids": [picture], "shareWith": ["stranger"]})).await;
        assert_eq!(share.ok()[0]["organisations"], json!([]));
    }

    async fn star_means_everybody(backend) {
        let files = start(backend).await;
        let form = form("files", "contract", "x").text("organisations", "*").part("file", part(PNG));
        let id = id(&files.upload(&User::of("farm"), form).await.ok());
        assert_eq!(files.get(&User::of("stranger"), &id).await.status, 200);
        assert_eq!(files.get(&User::individual("bob"), &id).await.status, 200);
        assert_eq!(files.archive(&User::of("stranger"), &id).await.error(403), "forbidden");
    }

    async fn unknown_ids_are_not_found(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        for id in ["0198c0de-0000-7000-8000-000000000000", "7", "%00", "{id}"] {
            assert_eq!(files.get(&user, id).await.error(404), "not_found", "{id}");
            assert_eq!(files.info(&user, id).await.error(404), "not_found", "{id}");
            assert_eq!(files.archive(&user, id).await.error(404), "not_found", "{id}");
        }
    }
}
