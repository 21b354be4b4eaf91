#!/bin/sh
# Starts the OpenID provider of the Compose profile `login`. Its signing key is in /tmp: new at each start.
set -eu
cp /etc/drover/settings.yaml /etc/drover/users.yaml /tmp/
cd /tmp
LOGIN_PASSWORD=$(cat /run/secrets/login-password)
LOGIN_SECRET=$(cat /run/secrets/login-secret)
export LOGIN_PASSWORD LOGIN_SECRET
exec nanoidp --config /tmp --host 0.0.0.0 --port 8444
