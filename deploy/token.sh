#!/usr/bin/env bash
# Prints a test token that is valid for an hour, signed with the key that deploy/secrets.sh created. Needs openssl.
#
#     deploy/token.sh USER [ORGANISATION [ROLE [NAME [ORGANISATION-NAME]]]]
set -euo pipefail
user=${1:?the argument USER is missing}
key=${SECRETS:-"$(dirname "${BASH_SOURCE[0]}")/secrets"}/demo-key.pem
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

now=$(date +%s)
name=${4:-$user}
organisation=${2:+"\"org\":\"$2\",\"orgName\":\"${5:-$2}\","}
role=${3:+"\"$3\""}
head=$(printf '{"alg":"RS256","typ":"JWT","kid":"demo"}' | base64url)
claims=$(printf '{"iss":"drover-demo","aud":"drover","sub":"%s","name":"%s",%s"roles":[%s],"nbf":%d,"exp":%d}' \
    "$user" "$name" "$organisation" "$role" "$now" "$((now + 3600))" | base64url)
printf '%s.%s.%s\n' "$head" "$claims" \
    "$(printf %s "$head.$claims" | openssl dgst -sha256 -sign "$key" -binary | base64url)"
