#!/bin/sh
# Makes what the services need of a new PostgreSQL server: for each a role that owns a schema of the same name and can
# neither see into the others' nor make anything elsewhere. The image runs it once (docker-entrypoint-initdb.d); by hand:
# PGHOST=… PGPASSWORD=… POSTGRES_USER=postgres POSTGRES_DB=drover deploy/postgres/init.sh
#
# A role's password is the one in its service's database URL, letters and digits that need no quoting.
set -eu
secrets=${SECRETS:-/run/secrets}

run() {
    psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"
}

# pg_trgm finds texts for logistics, whose role may make no extension: it looks for it in whatever schema it is.
run <<'SQL'
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA extensions;
CREATE EXTENSION pg_trgm SCHEMA extensions;
SQL

for service in system logistics livestock; do
    url=$(cat "$secrets/$service-database-url")
    password=${url#*://"$service":}
    # In the environment, where `ps` does not show it.
    ROLE_PASSWORD=${password%%@*} run --set role="$service" <<'SQL'
\getenv password ROLE_PASSWORD
CREATE ROLE :"role" LOGIN PASSWORD :'password';
GRANT CONNECT, TEMPORARY ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA extensions TO :"role";
CREATE SCHEMA :"role" AUTHORIZATION :"role";
SQL
done
