#!/bin/sh
# Runs deploy/examples against a deployment, with test tokens. Needs curl and openssl.
#
#     deploy/try.sh [https://localhost:8443]
exec "$(dirname "$0")/examples/run" --at "${1:-https://localhost:8443}"
