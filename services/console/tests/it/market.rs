//! The market: its filters, its map, its pictures, and what visitors see.

use super::*;

/// A listing of Penybont Farm, published. `members` replace those of the form.
pub(crate) async fn create_listing(office: &Office, path: &str, members: &Value) -> String {
    create_listing_at(&office.livestock, path, members).await
}

/// The same in another market.
pub(crate) async fn create_listing_at(market: &App, path: &str, members: &Value) -> String {
    let mut form = json!({
        "type": "selling", "isDraft": false, "categoryIds": [], "files": null, "description": "To be seen by appointment.",
        "tags": [], "price": {"type": "fixed", "pricePerUnit": {"amount": 145, "currency": "GBP"}},
        "location": {"address": {"city": "Brecon", "postcode": "LD3 7HR", "countryISO": "GB"},
            "coordinates": {"lat": 51.9469, "lon": -3.3915}},
    });
    if !["feed", "bedding"].contains(&path) {
        form["properties"] = json!({"title": "Ewes", "breed": "Texel", "quantity": 24});
    }
    for (name, value) in members.as_object().unwrap() {
        form[name] = value.clone();
    }
    let created = market.post(&format!("/v1/listings/{path}")).by(&carys()).json(&form).send().await.ok();
    created["id"].as_str().unwrap().to_owned()
}

pub(crate) fn carys() -> User {
    user("carys", "penybont-farm", "Penybont Farm").with("name", "Carys")
}

fn ewes(title: &str, breed: &str) -> Value {
    json!({"properties": {"title": title, "breed": breed, "sexes": "ewes", "minAge": 12, "maxAge": 18}})
}

/// The address of the link with this text.
fn link(page: &str, text: &str) -> String {
    let at = page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let before = &page[..at];
    before.rsplit_once("href=\"").unwrap().1.split('"').next().unwrap().replace("&amp;", "&")
}

#[test]
fn the_market_filters_and_keeps_its_filters_in_place() {
    testkit::block_on(async {
        let office = Office::start().await;
        create_listing(&office, "sheep", &ewes("Texel ewes", "Texel")).await;
        create_listing(&office, "sheep", &ewes("Suffolk ewes", "Suffolk")).await;
        create_listing(&office, "feed", &json!({"description": "Meadow hay"})).await;
        let browser = office.browser("tom").await;
        let text = browser.get("/market").await.ok();
        for shown in ["3 listings", "Texel ewes", "Suffolk ewes", "Meadow hay", "£145 each", "no picture"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(link(&text, "Texel<span class=\"count\">1</span>"), "/market?breed=Texel");
        let texel = browser.get("/market?breed=Texel").await.ok();
        assert!(texel.contains("1 listing<") && !texel.contains("Suffolk ewes"), "{texel}");
        // Another type leaves nothing. The chosen breed stays to be taken off, and the others keep their place.
        let none = browser.get("/market?breed=Texel&category=cattle").await.ok();
        assert!(none.contains("0 listings") && none.contains("No listing matches these filters"), "{none}");
        assert!(
            none.contains("<span class=\"count\">0</span></a>") && none.contains("Breed: Texel ✕"),
            "{none}"
        );
        assert!(none.contains("<span class=\"none\">Suffolk<span class=\"count\">0</span></span>"), "{none}");
        let order = |page: &str| {
            let facets =
                page.split("<h2>Breed</h2>").nth(1).unwrap().split("</ul>").next().unwrap().to_owned();
            facets.find("Suffolk").unwrap() < facets.find("Texel").unwrap()
        };
        assert_eq!(order(&text), order(&none), "nothing jumps");
        let both = browser.get("/market?breed=Texel&breed=Suffolk&q=ewes&view=table").await.ok();
        assert!(both.contains("2 listings") && both.contains("<table class=\"stack\">"), "{both}");
        let near = browser.get("/market?near=LD3+7HR&within=20").await.ok();
        assert!(near.contains("3 listings") && near.contains("1 km away"), "{near}");
        let unknown = browser.get("/market?near=XX99+9XX").await;
        assert!(unknown.status == 400 && unknown.text.contains("role=\"status\""), "{}", unknown.text);
    });
}

#[test]
fn listings_at_one_point_open_as_a_list_at_any_zoom() {
    testkit::block_on(async {
        let office = Office::start().await;
        for title in ["One", "Two", "Three"] {
            create_listing(&office, "sheep", &ewes(title, "Texel")).await;
        }
        let far =
            json!({"location": {"coordinates": {"lat": 57.15, "lon": -2.1}}, "properties": {"title": "Far"}});
        create_listing(&office, "sheep", &far).await;
        let browser = office.browser("tom").await;
        let mut page = browser.get("/market").await.ok();
        assert!(page.contains("<path class=\"land\" d=\"M"), "{page}");
        // One finger and the wheel scroll the page: nothing listens to them but while a box is drawn.
        let script = browser.get("/assets/map.js").await.ok();
        assert!(!script.contains("wheel\"") && script.contains("if (!draws() || !event.isPrimary) return;"));
        let style = browser.get("/assets/console.css").await.ok();
        assert_eq!(style.matches("touch-action").count(), 1);
        // Closer and closer: the number stays 3, and the three are in the list.
        for _ in 0..8 {
            let path = link(&page, "<circle");
            let at = page.find("aria-label=\"3 listings\"").unwrap_or_else(|| panic!("{page}"));
            let link =
                page[..at].rsplit_once("href=\"").unwrap().1.split('"').next().unwrap().replace("&amp;", "&");
            assert!(path.starts_with("/market?box="));
            page = browser.get(&link).await.ok();
            for title in ["One", "Two", "Three"] {
                assert!(page.contains(&format!("<b>{title}</b>")), "{title}: {page}");
            }
            assert!(page.contains("3 listings") && !page.contains("<b>Far</b>"), "{page}");
        }
        assert!(
            page.contains("Whole map") && page.contains("Wider") && page.contains("Further west"),
            "{page}"
        );
        let wrong = browser.get("/market?box=1,2,3").await;
        assert_eq!(wrong.status, 400);
    });
}

#[test]
fn maps_show_the_tiles_of_the_operator() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &ewes("Ewes", "Texel")).await;
        let console = RunningConsole::start(Settings {
            system_url: office.system.url.clone(),
            logistics_url: office.logistics.url.clone(),
            livestock_url: office.livestock.url.clone(),
            tiles_url: Some("https://tiles.example/{z}/{x}/{y}.png".to_owned()),
            tiles_attribution: "© Mapmakers".to_owned(),
            ..development()
        })
        .await;
        let browser = Browser::new(&console.url);
        browser.post("/login/person", &[("person", "tom"), ("to", "/")]).await;
        for path in ["/market", &format!("/market/{id}")] {
            let reply = browser.get(path).await;
            let tiles = reply.text.matches("<image href=\"https://tiles.example/").count();
            assert!(
                (6..=40).contains(&tiles) && reply.text.contains("Map: © Mapmakers"),
                "{path}: {}",
                reply.text
            );
            let policy = reply.header("content-security-policy");
            assert!(policy.contains("img-src 'self' blob: https://tiles.example;"), "{path}: {policy}");
        }
        let without = office.browser("tom").await.get("/market").await.ok();
        assert!(!without.contains("<image") && !without.contains("Map: "), "{without}");
    });
}

#[test]
fn a_search_is_saved_and_the_wishlist_is_kept() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &ewes("Texel ewes", "Texel")).await;
        let browser = office.browser("tom").await;
        let page = browser.get("/market?breed=Texel&cursor=").await;
        let wish = format!("/market/{id}/wishlist");
        let reply = browser.send_form(&page, &wish, &[("then", "add")]).await;
        assert_eq!((reply.status, reply.location()), (303, "/market?breed=Texel"), "{}", reply.text);
        let wished = browser.get("/market?wishlist=on").await.ok();
        assert!(wished.contains("1 listing<") && wished.contains("On your wishlist"), "{wished}");
        let form = browser.get("/market/save?breed=Texel&breed=Suffolk").await;
        assert!(form.text.contains("Breed: Suffolk") && form.text.contains("curl -X POST"), "{}", form.text);
        let refused = browser.send_form(&form, "/market/save", &[]).await;
        assert!(refused.status == 400 && refused.text.contains("error-name"), "{}", refused.text);
        let saved = browser.send_form(&form, "/market/save", &[("name", "Ewes to buy")]).await;
        assert_eq!((saved.status, saved.location()), (303, "/market?breed=Texel&breed=Suffolk&done=saved"));
        // A double click saves one.
        browser.send_form(&form, "/market/save", &[("name", "Ewes to buy")]).await;
        let tom = user("tom", "wye-valley-farm", "Wye Valley Farm");
        let searches = office.livestock.get("/v1/saved-searches").by(&tom).send().await.ok();
        assert_eq!(searches.as_array().unwrap().len(), 1, "{searches}");
        assert_eq!(searches[0]["parameters"], json!({"f:commodityBreed": ["Texel", "Suffolk"]}));
        assert_eq!(searches[0]["notify"], true);
    });
}

#[test]
fn visitors_see_what_the_api_shows_them() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &ewes("Texel ewes", "Texel")).await;
        let visitor = Browser::new(&office.console.url);
        let closed = visitor.get("/market?breed=Texel").await;
        assert_eq!((closed.status, closed.location()), (303, "/login?to=%2Fmarket%3Fbreed%3DTexel"));
        assert_eq!(visitor.get(&format!("/market/{id}")).await.status, 303);

        let settings = livestock::Settings {
            system_url: office.system.url.clone(),
            public_listings: true,
            ..Default::default()
        };
        let public = Box::pin(App::start::<Livestock>(Backend::Sqlite, settings)).await;
        let console = RunningConsole::start(Settings {
            system_url: office.system.url.clone(),
            logistics_url: office.logistics.url.clone(),
            livestock_url: public.url.clone(),
            ..development()
        })
        .await;
        let seller = Browser::new(&console.url);
        seller.post("/login/person", &[("person", "carys"), ("to", "/")]).await;
        let form = seller.get("/market/new/sheep").await;
        let typed = [
            ("properties.title", "Texel ewes"),
            ("description", "By appointment."),
            ("price.type", "poa"),
            ("location.address.postcode", "LD3 7HR"),
        ];
        let picture = ("ewes.jpg", "image/jpeg", loads::photograph("ewes"));
        let reply = seller.send_file(&form, "/market/new/sheep", &typed, picture).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let draft = reply.location().split(['?']).next().unwrap().to_owned();
        let visitor = Browser::new(&console.url);
        let text = visitor.get("/market").await.ok();
        assert!(text.contains("0 listings") && !text.contains("Texel ewes"), "a draft is not public: {text}");
        let edit = format!("{draft}/edit");
        let reply = seller.fill(&edit, &edit, &[("then", "publish")]).await;
        assert_eq!(reply.location(), format!("{draft}?done=published"), "{}", reply.text);
        let market = visitor.get("/market").await.ok();
        for shown in ["Texel ewes", "1 listing<", "Log in", "LD3", "srcset=\"/market/pictures/"] {
            assert!(market.contains(shown), "{shown}: {market}");
        }
        for hidden in ["LD3 7HR", "wishlist", "Sell or seek", "form-token", "href=\"/loads\""] {
            assert!(!market.contains(hidden), "{hidden}: {market}");
        }
        // Pictures come through the console's own origin.
        let source = market.split("src=\"").find(|part| part.starts_with("/market/pictures/")).unwrap();
        let source = source.split('"').next().unwrap().replace("&amp;", "&");
        let picture = visitor.get(&source).await;
        assert_eq!((picture.status, picture.header("x-content-type-options")), (200, "nosniff"), "{source}");
        assert!(picture.header("content-type").starts_with("image/"), "{:?}", picture.headers);
        assert_eq!(visitor.get(source.split('?').next().unwrap()).await.status, 403, "without the signature");
        let page = visitor.get(&draft).await.ok();
        assert!(page.contains("Price on application") && page.contains("Log in to enquire"), "{page}");
        assert!(!page.contains("LD3 7HR") && !page.contains("carys"), "{page}");
    });
}
