#!/usr/bin/env bash
# Creates the secrets of docker-compose.yml, and adds the name of the project, which is also a part of the names of
# volumes, to .env. Keeps files that exist. Needs openssl.
#
#     deploy/secrets.sh [FOLDER]
#
# The certificate is self-signed. The key for test tokens (demo-key.pem, jwks) has an effect with
# docker-compose.demo.yml only. If the console's client at the identity provider has a secret, replace
# console-client-secret by it. Before real use, name an identity provider in .env (see docker-compose.yml) and install
# a certificate of a CA. Repeat this when it is renewed:
#
#     install -m 444 fullchain.pem deploy/secrets/certificate.pem ; install -m 444 privkey.pem deploy/secrets/key.pem
#     docker compose restart proxy
set -euo pipefail
umask 077
deploy=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=${1:-$deploy/secrets}
if [[ $# == 0 ]] && ! grep -qs '^COMPOSE_PROJECT_NAME=' "$deploy/../.env"; then
    echo 'COMPOSE_PROJECT_NAME=drover' >>"$deploy/../.env"
fi
mkdir -p "$folder"
cd "$folder"

# Containers have different users, so the files are readable by all. The folder keeps out other users of the host.
chmod 700 .
keep() {
    if [[ -e $1 ]]; then
        cat >/dev/null
        return
    fi
    cat >"$1.new"
    chmod 444 "$1.new"
    mv "$1.new" "$1"
}
random() { openssl rand -hex "$1"; }
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

random 24 | keep postgres-password
for service in system logistics livestock; do
    echo "postgres://$service:$(random 24)@postgres:5432/drover" | keep "$service-database-url"
done

echo "redis://drover:$(random 24)@redis:6379/0" | keep cache-url
password=$(sed 's,.*://drover:,,; s,@.*,,' cache-url)
# Redis gets only the digest of the password. The user has access to the keys of this deployment only.
digest=$(printf %s "$password" | openssl dgst -sha256 -r | cut -d' ' -f1)
printf 'user default off\nuser drover on #%s ~drover:* resetchannels +@all -@admin -@dangerous +info\n' "$digest" |
    keep redis-users

random 24 | keep store-secret-key
keep store-identities <<JSON
{"identities": [{
  "name": "drover",
  "credentials": [{"accessKey": "drover", "secretKey": "$(cat store-secret-key)"}],
  "actions": ["Admin:drover-files", "Read:drover-files", "Write:drover-files", "List:drover-files"]
}]}
JSON

# Signing secret of webhooks (docs/api/webhooks.md#signature).
echo "whsec_$(openssl rand -base64 32)" | keep webhook-secrets

# Key of the console's sessions, and a secret for its client at the identity provider.
openssl rand -base64 32 | keep session-keys
random 24 | keep console-client-secret

# The provider of the profile `login`: its encryption key, the password of its directory, and the key that signs tokens.
random 24 | keep login-secret
random 24 | keep login-directory-password
if [[ ! -e login-key ]]; then
    openssl genrsa 3072 2>/dev/null | keep login-key
fi

if [[ ! -e demo-key.pem ]]; then
    openssl genrsa -out demo-key.new 2048 2>/dev/null
    mv demo-key.new demo-key.pem
fi
chmod 444 demo-key.pem # for the console of docker-compose.demo.yml
# A public key in DER ends with the modulus (256 bytes) and the encoded exponent (5 bytes).
modulus=$(openssl rsa -in demo-key.pem -pubout -outform DER 2>/dev/null | tail -c 261 | head -c 256 | base64url)
keep jwks <<JSON
{"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "demo", "n": "$modulus", "e": "AQAB"}]}
JSON

if [[ ! -e certificate.pem ]]; then
    openssl req -x509 -newkey rsa:3072 -nodes -keyout key.new -out certificate.new -days 825 -subj /CN=localhost \
        -addext "subjectAltName=DNS:localhost,DNS:drover.example,IP:127.0.0.1" 2>/dev/null
    chmod 444 key.new certificate.new
    mv key.new key.pem
    mv certificate.new certificate.pem
fi
# Containers may read the files only with this label, where SELinux is on.
if command -v selinuxenabled >/dev/null && selinuxenabled; then
    chcon --recursive --type=container_file_t .
fi
echo "secrets are in $PWD"
