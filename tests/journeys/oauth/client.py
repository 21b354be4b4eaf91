"""A service account's client with Authlib, as its documentation shows it: finds the token endpoint by the metadata of
the issuer, gets a token and calls a service of the environment.
"""

import os

import requests
from authlib.integrations.requests_client import OAuth2Session

metadata = requests.get(os.environ["SYSTEM"] + "/.well-known/oauth-authorization-server", timeout=30).json()
for method in metadata["token_endpoint_auth_methods_supported"]:
    client = OAuth2Session(
        os.environ["CLIENT_ID"], os.environ["CLIENT_SECRET"], token_endpoint_auth_method=method
    )
    token = client.fetch_token(metadata["token_endpoint"], grant_type="client_credentials")
    assert token["token_type"] == "Bearer" and token["expires_in"] == 600, token
    for url in [os.environ["SYSTEM"] + "/v1/files", os.environ["LOGISTICS"] + "/v1/loads"]:
        response = client.get(url)
        assert response.status_code == 200, response.text
        print(method, url.rsplit("/", 1)[1], len(response.json()))
