#!/usr/bin/env bash
# Prints a token for an hour, signed with the key for trying out that deploy/secrets.sh made, as an identity provider would.
#
#     deploy/token.sh USER [ORGANISATION [ROLE]]
set -euo pipefail
user=${1:?whose token it is}
key=${SECRETS:-"$(dirname "${BASH_SOURCE[0]}")/secrets"}/demo-key.pem
base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }

now=$(date +%s)
organisation=${2:+"\"org\":\"$2\",\"orgName\":\"$2\","}
role=${3:+"\"$3\""}
head=$(printf '{"alg":"RS256","typ":"JWT","kid":"demo"}' | base64url)
claims=$(printf '{"iss":"drover-demo","aud":"drover","sub":"%s","name":"%s",%s"roles":[%s],"nbf":%d,"exp":%d}' \
    "$user" "$user" "$organisation" "$role" "$now" "$((now + 3600))" | base64url)
printf '%s.%s.%s\n' "$head" "$claims" \
    "$(printf %s "$head.$claims" | openssl dgst -sha256 -sign "$key" -binary | base64url)"
