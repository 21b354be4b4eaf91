//! What a browser does with the console: keeps cookies, follows no redirect by itself, and sends forms as they are.

use std::sync::{Arc, Mutex};

use reqwest::header::{COOKIE, SET_COOKIE};

/// A browser without scripts.
pub struct Browser {
    url: String,
    client: reqwest::Client,
    cookies: Arc<Mutex<Vec<(String, String)>>>,
}

/// A response.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub headers: reqwest::header::HeaderMap,
    pub text: String,
}

impl Reply {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Where a redirect leads.
    pub fn location(&self) -> &str {
        self.header("location")
    }

    /// The text of a page.
    ///
    /// # Panics
    /// If the status is another than 200.
    pub fn ok(self) -> String {
        assert_eq!(self.status, 200, "{}", self.text);
        self.text
    }

    /// The fields of the form that is sent to this address, as the page contains them.
    pub fn fields(&self, action: &str) -> Vec<(String, String)> {
        fields(&self.text, action)
    }
}

impl Browser {
    pub fn new(url: &str) -> Self {
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
        Self { url: url.to_owned(), client, cookies: Arc::default() }
    }

    /// The same browser at another replica: with one store of cookies.
    pub fn at_replica(&self, url: &str) -> Self {
        Self { url: url.to_owned(), client: self.client.clone(), cookies: self.cookies.clone() }
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.send(self.client.get(format!("{}{path}", self.url))).await
    }

    /// Opens a page with a header.
    pub async fn get_with(&self, path: &str, (name, value): (&str, &str)) -> Reply {
        self.send(self.client.get(format!("{}{path}", self.url)).header(name, value)).await
    }

    /// Opens a stream.
    pub async fn open(&self, path: &str) -> reqwest::Response {
        self.client.get(format!("{}{path}", self.url)).header(COOKIE, self.cookies()).send().await.unwrap()
    }

    /// Sends a form from a page of the console.
    pub async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.post_from(path, fields, &self.url).await
    }

    /// Sends a form from a page of this origin.
    pub async fn post_from(&self, path: &str, fields: &[(&str, &str)], origin: &str) -> Reply {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let request = self.client.post(format!("{}{path}", self.url)).body(body.finish());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.send(request.header("origin", origin)).await
    }

    /// Opens a page, changes fields of its form that is sent to `action`, and sends it.
    pub async fn fill(&self, page: &str, action: &str, changes: &[(&str, &str)]) -> Reply {
        let reply = self.get(page).await;
        self.send_form(&reply, action, changes).await
    }

    /// Sends a form of a page with changed fields.
    pub async fn send_form(&self, page: &Reply, action: &str, changes: &[(&str, &str)]) -> Reply {
        let mut fields = page.fields(action);
        for (name, value) in changes {
            match fields.iter_mut().find(|(known, _)| known == name) {
                Some(field) => (*value).clone_into(&mut field.1),
                None => fields.push(((*name).to_owned(), (*value).to_owned())),
            }
        }
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post(action, &fields).await
    }

    /// Sends a form of a page with changed fields and a file, as a browser does: the file after the fields.
    pub async fn send_file(
        &self,
        page: &Reply,
        action: &str,
        changes: &[(&str, &str)],
        (name, media_type, bytes): (&str, &str, Vec<u8>),
    ) -> Reply {
        let mut form = reqwest::multipart::Form::new();
        for (name, value) in page.fields(action).into_iter().filter(|(name, _)| name != "file") {
            let typed = changes.iter().find(|(known, _)| *known == name);
            form = form.text(name, typed.map_or(value, |(_, value)| (*value).to_owned()));
        }
        let part = reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned());
        let form = form.part("file", part.mime_str(media_type).unwrap());
        self.post_multipart(action, form).await
    }

    /// Sends a form with files from a page of the console.
    pub async fn post_multipart(&self, path: &str, form: reqwest::multipart::Form) -> Reply {
        let request = self.client.post(format!("{}{path}", self.url)).multipart(form);
        self.send(request.header("origin", &self.url)).await
    }

    /// Sends the form of the second step of a driver's page, which follows the first one.
    pub async fn send_second(&self, page: &Reply, action: &str, changes: &[(&str, &str)]) -> Reply {
        let start = format!("action=\"{action}\"");
        let second = page.text.rfind(&start).expect("a second step");
        let page = Reply { status: 200, headers: page.headers.clone(), text: page.text[second..].to_owned() };
        self.send_form(&page, action, changes).await
    }

    /// Sends a form as a script does that reads the answer.
    pub async fn post_json(&self, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut body = url::form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let request = self.client.post(format!("{}{path}", self.url)).body(body.finish());
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.send(request.header("origin", &self.url).header("accept", "application/json")).await
    }

    /// Sends a photograph as a script does that reads the answer.
    pub async fn send_photograph(&self, path: &str, token: &str, bytes: Vec<u8>) -> Reply {
        let part = reqwest::multipart::Part::bytes(bytes).file_name("ticket.jpg");
        let form = reqwest::multipart::Form::new().text("form-token", token.to_owned());
        let form = form.part("file", part.mime_str("image/jpeg").unwrap());
        let request = self.client.post(format!("{}{path}", self.url)).multipart(form);
        self.send(request.header("origin", &self.url).header("accept", "application/json")).await
    }

    /// Sends a form of a page to an address as multipart: its fields with changed and further ones, then files.
    pub async fn send_sheets(
        &self,
        page: &Reply,
        (action, to): (&str, &str),
        changes: &[(&str, &str)],
        sheets: &[(&str, &[u8])],
    ) -> Reply {
        let mut form = reqwest::multipart::Form::new();
        let is_changed = |name: &str| changes.iter().any(|(changed, _)| *changed == name);
        for (name, value) in page.fields(action) {
            if name != "file" && !is_changed(&name) {
                form = form.text(name, value);
            }
        }
        for (name, value) in changes {
            form = form.text((*name).to_owned(), (*value).to_owned());
        }
        for (name, bytes) in sheets {
            let part = reqwest::multipart::Part::bytes(bytes.to_vec()).file_name((*name).to_owned());
            form = form.part("file", part.mime_str("text/csv").unwrap());
        }
        let request = self.client.post(format!("{}{to}", self.url)).multipart(form);
        self.send(request.header("origin", &self.url)).await
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Reply {
        let cookies = self.cookies();
        let response = request.header(COOKIE, cookies).send().await.unwrap();
        for line in response.headers().get_all(SET_COOKIE) {
            let line = line.to_str().unwrap();
            let (name, value) = line.split(';').next().unwrap().split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            cookies.retain(|(known, _)| known != name);
            if !line.contains("Max-Age=0") {
                cookies.push((name.to_owned(), value.to_owned()));
            }
        }
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Reply { status, headers, text: response.text().await.unwrap() }
    }

    /// The cookies as a header.
    pub fn cookies(&self) -> String {
        let cookies = self.cookies.lock().unwrap();
        cookies.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    /// Replaces the cookies.
    pub fn set_cookies(&self, header: &str) {
        let pairs = header.split("; ").filter_map(|pair| pair.split_once('='));
        *self.cookies.lock().unwrap() =
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    }
}

/// Returns the fields of the form of a page that is sent to an address, with their values. Fields with choices have the
/// selected one, and check boxes count if they are checked.
fn fields(page: &str, action: &str) -> Vec<(String, String)> {
    let start = format!("action=\"{action}\"");
    let at = page.find(&start).unwrap_or_else(|| panic!("no form for {action}: {page}"));
    let form = &page[at..at + page[at..].find("</form>").unwrap()];
    let mut found = Vec::new();
    for (index, _) in form.match_indices('<') {
        let rest = &form[index..];
        let tag = &rest[..=rest.find('>').unwrap()];
        let attribute = |name: &str| {
            let (_, value) = tag.split_once(&format!(" {name}=\""))?;
            Some(unescape(value.split('"').next()?))
        };
        let Some(name) = attribute("name") else { continue };
        let inner = |end: &str| rest[tag.len()..].split(end).next().unwrap().to_owned();
        if tag.starts_with("<textarea") {
            found.push((name, unescape(&inner("</textarea>"))));
        } else if tag.starts_with("<select") {
            let options = inner("</select>");
            let selected = options.split("<option ").find(|option| option.contains(" selected"));
            let value = selected.and_then(|option| option.split("value=\"").nth(1)?.split('"').next());
            found.push((name, unescape(value.unwrap_or_default())));
        } else if tag.starts_with("<input") {
            let is_choice = tag.contains("type=\"checkbox\"") || tag.contains("type=\"radio\"");
            if !is_choice || tag.contains(" checked") {
                found.push((name, attribute("value").unwrap_or_default()));
            }
        }
    }
    found
}

fn unescape(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}
