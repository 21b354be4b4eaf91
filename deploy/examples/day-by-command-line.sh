#!/bin/sh
# A day of an office by the command line: upload a ticket, enter a load, import a sheet with a fault, mend it, prove the
# delivery, export, and follow what happened. Needs the program `drover` (docs/api/command-line.md).
#
#     . deploy/examples/env.sh && deploy/examples/day-by-command-line.sh
set -eu
cd "$(dirname "$0")/../.."
: "${DROVER:=drover}" "${RUN:=$(date +%s)}" "${OWEN:?is not set: run . deploy/examples/env.sh}" "${RUTH:?is not set}"
export SYSTEM LOGISTICS LIVESTOCK RUN
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Runs drover as a person: the token is in the environment, not in the arguments, which `ps` shows.
as() {
    token=$1
    shift
    DROVER_TOKEN=$token "$DROVER" "$@"
}

step() { printf '\n# %s\n' "$1"; }

step "Owen, a grain merchant, begins to follow his loads. The cursor is kept in a file."
as "$OWEN" events follow --once --after now --store "$folder/cursor"

step "He uploads a contract, and enters a load with it."
contract=$(as "$OWEN" files upload --type contract deploy/examples/files/contract.pdf)
created=$(as "$OWEN" loads create --reference "DC-$RUN" --date 2026-12-01 --commodity "Feed Barley" --weight 28 \
    --file "$contract" --tag contract)
echo "$created"
load=$(echo "$created" | cut -d ' ' -f 3)
as "$OWEN" loads show "$load"

step "He imports his sheet. One commodity is misspelt: nothing is stored, and the program says how to mend it."
cat >"$folder/march.csv" <<CSV
Our ref;Delivery date;Commodity;Weight (t);Haulier ID;Haulier
DS-$RUN-1;13/03/2026;Milling Wheat;28,5;hereford-haulage;Hereford Haulage
DS-$RUN-2;14/03/2026;Miling Weat;29;hereford-haulage;Hereford Haulage
CSV
if as "$OWEN" loads import "$folder/march.csv" --organisation-id border-grain; then
    echo "error: the sheet with the fault was imported" >&2
    exit 1
else
    [ $? -eq 1 ]
fi

step "He imports it with the suggestion."
as "$OWEN" loads import "$folder/march.csv" --organisation-id border-grain --correct '1:commodityName=Milling Wheat'
as "$OWEN" loads list "DS-$RUN" --sort reference

step "Ruth, the haulier, delivers the first one. She uploads the signed ticket, and proves the delivery."
ticket=$(as "$RUTH" files upload --type weighbridge --bucket images deploy/examples/files/signed-ticket.jpg)
first=$(as "$RUTH" loads list "DS-$RUN" --sort reference | awk 'NR == 2 { print $1 }')
as "$RUTH" loads prove "$first" --weight-net 28.32 --ticket WB-20417 --vehicle "VX21 KLM" --file "$ticket"

step "Owen exports what is completed."
as "$OWEN" loads export --output "$folder/completed.csv"
grep "DS-$RUN-1," "$folder/completed.csv"

step "He reads what happened since the morning, in order."
as "$OWEN" events follow --once --store "$folder/cursor" >"$folder/events.txt"
grep "$RUN" "$folder/events.txt"
