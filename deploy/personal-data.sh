#!/usr/bin/env bash
# Exports or erases everything that the three services hold about a user (docs/api/personal-data.md). Needs curl.
#
#     TOKEN=... deploy/personal-data.sh export USER_ID [FOLDER]   writes FOLDER/system.json, logistics.json, livestock.json
#     TOKEN=... deploy/personal-data.sh erase USER_ID             erases until nothing is left
#
# TOKEN is a token with the role admin. USER_ID is the claim sub of the user's tokens. SYSTEM, LOGISTICS and LIVESTOCK are
# the base URLs of the services, by default those on this machine. curl gets the token and the user id on its standard
# input, so that the list of processes does not show them.
set -euo pipefail
umask 077

command=${1:?the argument export or erase is missing}
user=${2:?the argument USER_ID is missing}
folder=${3:-.}
: "${TOKEN:?set TOKEN to a token with the role admin}"
: "${SYSTEM:=http://127.0.0.1:8081}" "${LOGISTICS:=http://127.0.0.1:8082}" "${LIVESTOCK:=http://127.0.0.1:8083}"

# Every byte of the id, percent-encoded.
id=$(printf %s "$user" | od -An -v -tx1 | tr -d ' \n' | sed 's/../%&/g')

# Sends a request for the user. Arguments: base URL, operation, arguments of curl.
call() {
    printf 'url = "%s/v1/users/%s/%s"\nheader = "Authorization: Bearer %s"\n' "${1%/}" "$id" "$2" "$TOKEN" |
        curl --config - --silent --show-error --fail-with-body "${@:3}"
}

# Arguments: name and base URL of a service.
export_from() {
    mkdir -p "$folder"
    if ! call "$2" data --output "$folder/$1.json.part"; then
        cat "$folder/$1.json.part" >&2
        rm -f "$folder/$1.json.part"
        return 1
    fi
    mv "$folder/$1.json.part" "$folder/$1.json"
    echo "$folder/$1.json"
}

# Arguments: name and base URL of a service.
erase_from() {
    local response count total=0
    while :; do
        response=$(call "$2" erase --request POST) || { echo "$1: $response" >&2 && return 1; }
        count=${response#*\"count\":}
        count=${count%%[!0-9]*}
        [ "${count:?the response has no count: $response}" -gt 0 ] || break
        total=$((total + count))
    done
    echo "$1: $total records erased"
}

case $command in
    export | erase) ;;
    *) echo "the first argument must be export or erase" >&2 && exit 2 ;;
esac
"${command}_from" logistics "$LOGISTICS"
"${command}_from" livestock "$LIVESTOCK"
"${command}_from" system "$SYSTEM"
