//! Who may read what (contract, section 2).

use testkit::User;

use super::{PNG, form, id, part, start};

testkit::on_both! {
    async fn open_types_are_for_every_caller(backend) {
        let files = start(backend).await;
        let (owner, stranger) = (User::of("farm"), User::of("stranger"));
        for kind in ["sample", "avatar", "image", "logo", "vehicle", "terms-conditions"] {
            let id = files.make(&owner, kind, PNG).await;
            for user in [&stranger, &User::alone("ann")] {
                assert_eq!(files.get(user, &id).await.status, 200, "{kind}");
                assert_eq!(files.info(user, &id).await.status, 200, "{kind}");
            }
        }
    }

    async fn papers_are_for_those_concerned(backend) {
        let files = start(backend).await;
        for kind in ["weighbridge", "contract", "trade-contract", "misc"] {
            let uploader = User::of("farm").with("sub", "ann");
            let form = form("files", kind, "x").text("organisations", "haulier").part("file", part(PNG));
            let id = id(&files.upload(&uploader, form).await.ok());
            let elsewhere = User::of("other").with("sub", "ann");
            for user in [&uploader, &User::of("farm"), &User::of("haulier"), &User::admin(), &elsewhere] {
                assert_eq!(files.get(user, &id).await.status, 200, "{kind}");
                assert_eq!(files.info(user, &id).await.status, 200, "{kind}");
            }
            for user in [&User::of("stranger"), &User::alone("bob")] {
                assert_eq!(files.get(user, &id).await.error(403), "forbidden", "{kind}");
                assert_eq!(files.info(user, &id).await.error(403), "forbidden", "{kind}");
            }
        }
    }

    async fn a_star_is_everybody(backend) {
        let files = start(backend).await;
        let form = form("files", "contract", "x").text("organisations", "*").part("file", part(PNG));
        let id = id(&files.upload(&User::of("farm"), form).await.ok());
        assert_eq!(files.get(&User::of("stranger"), &id).await.status, 200);
        assert_eq!(files.get(&User::alone("bob"), &id).await.status, 200);
        assert_eq!(files.archive(&User::of("stranger"), &id).await.error(403), "forbidden");
    }

    async fn what_does_not_exist_is_not_found(backend) {
        let files = start(backend).await;
        let user = User::of("farm");
        for id in ["0198c0de-0000-7000-8000-000000000000", "7", "%00", "{id}"] {
            assert_eq!(files.get(&user, id).await.error(404), "not_found", "{id}");
            assert_eq!(files.info(&user, id).await.error(404), "not_found", "{id}");
            assert_eq!(files.archive(&user, id).await.error(404), "not_found", "{id}");
        }
    }
}
