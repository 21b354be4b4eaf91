// A service account's client with the `fetch` of Node.js, by RFC 6749, section 4.4, and RFC 8414.

const { SYSTEM, LOGISTICS, CLIENT_ID, CLIENT_SECRET } = process.env;
const metadata = await (await fetch(`${SYSTEM}/.well-known/oauth-authorization-server`)).json();
const credentials = [CLIENT_ID, CLIENT_SECRET].map(encodeURIComponent).join(":");
const response = await fetch(metadata.token_endpoint, {
    method: "POST",
    headers: { authorization: `Basic ${Buffer.from(credentials).toString("base64")}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
});
if (response.status !== 200) throw new Error(await response.text());
const { access_token, token_type } = await response.json();
for (const url of [`${SYSTEM}/v1/files`, `${LOGISTICS}/v1/loads`]) {
    const found = await fetch(url, { headers: { authorization: `${token_type} ${access_token}` } });
    if (found.status !== 200) throw new Error(await found.text());
    console.log("client_secret_basic", url.split("/").pop(), (await found.json()).length);
}
