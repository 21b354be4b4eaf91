#!/bin/sh
# Prepares a new PostgreSQL server: creates a role for each service, which owns a schema of the same name and has no
# rights in other schemas. The image runs the script once (docker-entrypoint-initdb.d). By hand:
#
#     PGHOST=… PGPASSWORD=… POSTGRES_USER=postgres POSTGRES_DB=drover SECRETS=deploy/secrets deploy/postgres/init.sh
#
# SECRETS is the folder with the database URLs. The password of a role is that of its service's URL. It must not contain
# characters that a URL has to encode.
set -eu
secrets=${SECRETS:-/run/secrets}

run() {
    psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"
}

# Logistics needs pg_trgm for text search. Its role cannot create extensions, and finds this one in any schema.
run <<'SQL'
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA extensions;
CREATE EXTENSION pg_trgm SCHEMA extensions;
SQL

for service in system logistics livestock; do
    url=$(cat "$secrets/$service-database-url")
    password=${url#*://"$service":}
    # Passed in the environment, because `ps` shows arguments.
    ROLE_PASSWORD=${password%%@*} run --set role="$service" <<'SQL'
\getenv password ROLE_PASSWORD
CREATE ROLE :"role" LOGIN PASSWORD :'password';
GRANT CONNECT, TEMPORARY ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA extensions TO :"role";
CREATE SCHEMA :"role" AUTHORIZATION :"role";
SQL
done
