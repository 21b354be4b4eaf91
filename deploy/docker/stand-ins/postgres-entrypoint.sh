#!/bin/sh
# Starts PostgreSQL as the official image does, as far as docker-compose.yml uses it: creates the cluster and the
# database at the first start, with a server on the Unix socket only, and then serves TCP.
set -eu
if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    chmod 0700 "$PGDATA"
    initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth=trust >/dev/null
    echo 'host all all all scram-sha-256' >>"$PGDATA/pg_hba.conf"
    pg_ctl --wait --silent -o "-c listen_addresses=''" start
    createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
    pg_ctl --wait --silent --mode=fast stop
fi
if [ "$1" = postgres ]; then
    set -- "$@" -c "listen_addresses=*"
fi
exec "$@"
