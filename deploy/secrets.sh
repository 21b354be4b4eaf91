#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml asks for, once: what is there stays as it is. Needs openssl.
#
#     deploy/secrets.sh [FOLDER]
#
# Among them are a certificate of its own for localhost, and keys of its own for tokens (deploy/token.sh): both are for
# trying Drover out. For those of a real authority, and whenever they are renewed:
#
#     install -m 444 fullchain.pem deploy/secrets/certificate.pem ; install -m 444 privkey.pem deploy/secrets/key.pem
#     docker compose restart proxy
#
# An identity provider is named in .env: see docker-compose.yml.
set -euo pipefail
umask 077
folder=${1:-"$(dirname "${BASH_SOURCE[0]}")/secrets"}
mkdir -p "$folder"
cd "$folder"

# Containers read the files as users of their own; from outside nobody gets at them who may not enter the folder.
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
# Redis gets its digest, and a user that can reach this deployment's keys only.
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

# What webhooks are signed with (Standard Webhooks).
echo "whsec_$(openssl rand -base64 32)" | keep webhook-secrets

if [[ ! -e demo-key.pem ]]; then
    openssl genrsa -out demo-key.new 2048 2>/dev/null
    mv demo-key.new demo-key.pem
fi
# The modulus stands before the exponent, which are the last five bytes of the public key.
modulus=$(openssl rsa -in demo-key.pem -pubout -outform DER 2>/dev/null | tail -c 261 | head -c 256 | base64url)
keep jwks <<JSON
{"keys": [{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "demo", "n": "$modulus", "e": "AQAB"}]}
JSON

if [[ ! -e certificate.pem ]]; then
    openssl req -x509 -newkey rsa:2048 -nodes -keyout key.new -out certificate.new -days 825 -subj /CN=localhost \
        -addext "subjectAltName=DNS:localhost,DNS:drover.example,IP:127.0.0.1" 2>/dev/null
    chmod 444 key.new certificate.new
    mv key.new key.pem
    mv certificate.new certificate.pem
fi
echo "secrets are in $PWD"
