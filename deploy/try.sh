#!/usr/bin/env bash
# Sees a deployment work: a place is found, a ticket stored, a load made with it and found, cattle listed. Needs curl.
#
#     deploy/try.sh [https://localhost:8443]
set -euo pipefail
base=${1:-https://localhost:8443}
here=$(dirname "${BASH_SOURCE[0]}")
secrets=${SECRETS:-$here/secrets}
token=$("$here/token.sh" ruth hereford-haulage)
mark=$(openssl rand -hex 4)

# The token goes in by a file, so that `ps` does not show it.
ask() {
    curl --fail-with-body --silent --show-error --max-time 30 --cacert "$secrets/certificate.pem" \
        --config <(printf 'header = "Authorization: Bearer %s"\n' "$token") "$@"
}
json() { ask --header "Content-Type: application/json" --data "$2" "$base/$1"; }
# $1 is what has to be in the answer, which is on standard input.
shows() {
    answer=$(cat)
    if [[ $answer != *"$1"* ]]; then
        echo "$2: expected $1 in: $answer" >&2
        exit 1
    fi
    echo "$2: as it should be"
}

ask "$base/system/v1/addresses?query=hereford" | shows '"results"' "a place"
stored=$(printf '%%PDF-1.4 %s' "$mark" | ask --form "file=@-;filename=ticket.pdf" --form name=ticket.pdf \
    --form type=weighbridge --form bucket=files "$base/system/v1/files")
file=${stored#*\"id\":\"}
file=${file%%\"*}
ask "$base/system/v1/files/$file" | shows "$mark" "a ticket"
json logistics/v1/loads/carrier '{"carrierId": "hereford-haulage", "carrierName": "Hereford Haulage", "commodityId": 1,
    "reference": "'"$mark"'", "deliveryDateISO": "2026-03-01", "weight": 29.4, "tags": [], "files": [{"id": "'"$file"'"}]}' |
    shows "$file" "a load with it"
ask "$base/logistics/v1/loads?query=$mark" | shows "$mark" "the load, searched for"
json livestock/v1/listings/cattle '{"type": "selling", "isDraft": false, "categoryIds": [], "location": null,
    "price": {"type": "poa"}, "files": null, "description": "'"$mark"'", "tags": [],
    "properties": {"type": "calves", "breedType": "cross"}}' | shows success "a listing"
