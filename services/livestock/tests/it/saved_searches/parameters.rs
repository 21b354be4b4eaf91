//! The parameters of a saved search are checked as those of a search.

use serde_json::{Value, json};
use testkit::{App, User};

use super::save;
use crate::sample::start;

/// Returns the errors of a saved search with these parameters.
async fn errors(app: &App, parameters: &Value) -> Vec<String> {
    let form = json!({"name": "x", "parameters": parameters, "notify": true});
    app.post("/v1/saved-searches").by(&User::individual("ann")).json(&form).send().await.errors()
}

testkit::on_both! {
    async fn all_faults_are_reported_at_once(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let post = async |form: Value| app.post("/v1/saved-searches").by(&ann).json(&form).send().await;
        assert_eq!(post(json!({})).await.errors(), ["name required", "notify required", "parameters required"]);
        let wrong = json!({"name": "x".repeat(201), "parameters": ["minAge"], "notify": "true"});
        assert_eq!(post(wrong).await.errors(), ["name length", "notify type", "parameters type"]);
        let form = json!({"name": "", "notify": null, "parameters": {
            "limit": "5", "offset": "5", "cursor": "x", "count": "true", "sortBy": "price", "sortDesc": "true",
            "format": "CSV", "bom": "true", "docs": "false",
            "f:commoditySexes": "goats", "minAge": "x", "latitude": "95", "distanceKm": "10", "maxAge": 24,
            "f:commodityBreed": ["Hereford", 5, null], "f:commodityBreedSociety": vec!["a"; 51], "f:organisationId": {},
        }});
        assert_eq!(post(form).await.errors(), [
            "name length", "notify type", "parameters.bom inconsistent", "parameters.count inconsistent",
            "parameters.cursor inconsistent", "parameters.docs inconsistent",
            "parameters.f:commodityBreedSociety length", "parameters.f:commodityBreed[1] type",
            "parameters.f:commodityBreed[2] type", "parameters.f:commoditySexes enum", "parameters.f:organisationId type",
            "parameters.format inconsistent", "parameters.latitude range", "parameters.limit inconsistent",
            "parameters.longitude required", "parameters.maxAge type", "parameters.minAge type",
            "parameters.offset inconsistent", "parameters.sortBy inconsistent", "parameters.sortDesc inconsistent",
        ]);
    }

    async fn errors_are_those_of_the_search(backend) {
        let app = start(backend).await;
        for query in [
            "f:status=activ", "minAge=-1", "maxAge=x", "latitude=1", "longitude=200&latitude=1", "distanceKm=5",
            "distanceKm=0&latitude=1&longitude=1", "isWishlisted=yes", "f:commodityAdditionalInfo=x&f:commoditySexes=y",
            "f:commodityType=a%0Ab", &format!("f:organisationId={}", "x".repeat(1001)),
            &format!("f:commodityBreed={}", "x,".repeat(51)), "latitude=NaN&longitude=1",
        ] {
            let of_search = app.get(&format!("/v1/listings?{query}")).by(&User::individual("ann")).send().await.errors();
            let url = url::Url::parse(&format!("http://h/?{query}")).unwrap();
            let parameters: Value = url.query_pairs().map(|(name, text)| (name.into_owned(), json!(text))).collect();
            let expected: Vec<_> = of_search.iter().map(|error| format!("parameters.{error}")).collect();
            assert_eq!(errors(&app, &parameters).await, expected, "{query}");
        }
    }

    async fn unknown_parameters_are_refused(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let unknown = json!({"minage": "5", "a, b": 5, "minAge": "x", "maxAge[]": "5", "[]": "x", "f:breed": null});
        assert_eq!(errors(&app, &unknown).await, [
            "parameters.[] enum", "parameters.a, b enum", "parameters.f:breed enum", "parameters.maxAge[] enum",
            "parameters.minAge type", "parameters.minage enum",
        ]);
        let path = save(&app, &ann, json!({}), false).await;
        let patch = json!({"parameters": {"minage": "5"}});
        let reply = app.call("PATCH", &path).by(&ann).json(&patch).send().await;
        let allowed = &reply.json()["validation"][0]["data"]["allowed"];
        assert!(allowed.as_array().unwrap().contains(&json!("f:commodityBreed")), "{allowed}");
        assert!(!allowed.as_array().unwrap().contains(&json!("limit")), "{allowed}");
        assert_eq!(reply.errors(), ["parameters.minage enum"]);
    }

    async fn brackets_name_arrays(backend) {
        let (app, ann) = (start(backend).await, User::individual("ann"));
        let form = json!({"name": "x", "notify": true, "parameters": {"f:commodityBreed[]": ["Hereford"], "f:commodityBreed": "Cross"}});
        let saved = app.post("/v1/saved-searches").by(&ann).json(&form).send().await.ok();
        let mut breeds = saved["parameters"]["f:commodityBreed"].as_array().unwrap().clone();
        breeds.sort_by_key(ToString::to_string);
        assert_eq!((breeds, saved["parameters"].as_object().unwrap().len()), (vec![json!("Cross"), json!("Hereford")], 1));
        let path = format!("/v1/saved-searches/{}", saved["id"].as_str().unwrap());
        let patch = json!({"parameters": {"f:commodityBreed[]": null}});
        assert_eq!(app.call("PATCH", &path).by(&ann).json(&patch).send().await.ok()["parameters"], json!({}));
        assert_eq!(errors(&app, &json!({"f:commodityBreed[]": ["x", 5]})).await, ["parameters.f:commodityBreed[1] type"]);
    }
}
