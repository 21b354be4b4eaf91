# Sets the base URLs and a token for each person of the examples (valid for an hour). From the root of the repository:
#
#     . deploy/examples/env.sh                                  # the services of `cargo xtask up`
#     AT=https://localhost:8443 . deploy/examples/env.sh        # a deployment behind one address, such as docker-compose.yml
#
# Keeps variables that are set. For any other deployment, set SYSTEM, LOGISTICS, LIVESTOCK and the tokens yourself.

# Makes references unique, so that the examples can be repeated over the same data.
: "${RUN:=$(date +%s)}"

if [ -n "${AT-}" ]; then
    : "${SYSTEM:=$AT/system}" "${LOGISTICS:=$AT/logistics}" "${LIVESTOCK:=$AT/livestock}"
    export SECRETS="${SECRETS:-deploy/secrets}"
    # curl must trust the self-signed certificate that deploy/secrets.sh created.
    if [ -f "$SECRETS/certificate.pem" ]; then
        export CURL_CA_BUNDLE="$SECRETS/certificate.pem"
    fi
else
    : "${SYSTEM:=http://127.0.0.1:8081}" "${LOGISTICS:=http://127.0.0.1:8082}" "${LIVESTOCK:=http://127.0.0.1:8083}"
fi

# Prints a token. Arguments: user, name, organisation, name of the organisation, role.
token() {
    if [ -n "${AT-}" ]; then
        deploy/token.sh "$1" "$3" "${5-}" "$2" "$4"
    else
        set -- token --data "${DATA:-data}" --user "$1" --name "$2" --org "$3" --org-name "$4" ${5:+"--role=$5"}
        # XTASK: path of the program, if it is built already. DATA: the data folder of `up`.
        if [ -n "${XTASK-}" ]; then "$XTASK" "$@"; else cargo xtask "$@"; fi
    fi
}

# Sets a variable to a token, unless it is set. Arguments: the variable, and those of `token`.
person() {
    eval "[ -n \"\${$1-}\" ]" && return
    variable=$1
    shift
    eval "$variable=\$(token \"\$@\")"
}

# A haulier, a grain merchant, and a driver with his own lorry.
person RUTH ruth Ruth hereford-haulage "Hereford Haulage" &&
    person OWEN owen Owen border-grain "Border Grain Merchants" &&
    person DAI dai Dai dai-evans "Dai Evans Transport" &&
    # A farmer who sells livestock, a farmer who buys, and a user of an unrelated organisation.
    person CARYS carys Carys penybont-farm "Penybont Farm" &&
    person TOM tom Tom wye-valley-farm "Wye Valley Farm" &&
    # A user who leaves.
    person GWEN gwen Gwen penybont-farm "Penybont Farm" &&
    person SILAS silas Silas somewhere-else "Somewhere Else Ltd" &&
    # An administrator of the marketplace.
    person ANNA anna Anna drover "Drover" admin
