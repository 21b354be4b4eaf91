#!/bin/sh
# Prepares a PostgreSQL server: creates a role for each service, which owns a schema of the same name and has no rights
# in other schemas. The database must exist. It is safe to run again: it keeps roles and schemas that exist, and sets
# the passwords of the roles to those of the database URLs. docker-compose.yml runs it in the container `roles`. By
# hand:
#
#     PGHOST=… PGPASSWORD=… POSTGRES_USER=postgres POSTGRES_DB=drover SECRETS=deploy/secrets deploy/postgres/init.sh
#
# SECRETS is the folder with the database URLs. The password of a role is that of its service's URL. It must not contain
# characters that a URL has to encode. SERVICES names the services, by default all three.
set -eu
secrets=${SECRETS:-/run/secrets}
if [ -n "${POSTGRES_PASSWORD_FILE-}" ]; then
    PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
    export PGPASSWORD
fi

run() {
    psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" "$@"
}

# The services need pg_trgm for text search. Their roles cannot create extensions, and find this one in any
# schema.
run <<'SQL'
SET client_min_messages = warning;
REVOKE ALL ON DATABASE :"DBNAME" FROM PUBLIC;
REVOKE ALL ON SCHEMA public FROM PUBLIC;
CREATE SCHEMA IF NOT EXISTS extensions;
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA extensions;
SQL

for service in ${SERVICES:-system logistics livestock}; do
    url=$(cat "$secrets/$service-database-url")
    password=${url#*://"$service":}
    # Passed in the environment, because `ps` shows arguments.
    ROLE_PASSWORD=${password%%@*} run --set role="$service" <<'SQL'
SET client_min_messages = warning;
\getenv password ROLE_PASSWORD
SELECT format('CREATE ROLE %I', :'role') WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = :'role') \gexec
ALTER ROLE :"role" LOGIN PASSWORD :'password';
-- The services need errors in English. On a server with another language this needs a superuser.
SELECT format('ALTER ROLE %I SET lc_messages = ''C''', :'role')
    WHERE current_setting('lc_messages') !~* '^($|c$|c[.]|posix|en)' \gexec
GRANT CONNECT, TEMPORARY ON DATABASE :"DBNAME" TO :"role";
GRANT USAGE ON SCHEMA extensions TO :"role";
CREATE SCHEMA IF NOT EXISTS :"role" AUTHORIZATION :"role";
SQL
done
