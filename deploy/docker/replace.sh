#!/usr/bin/env bash
# Replaces the replicas of a service by replicas of the present image and settings, without losing requests: applies the
# migrations, starts as many new replicas as there are, waits until they are healthy, and stops the old ones. If a
# migration fails, or a new replica is not healthy within two minutes, the old replicas continue.
#
#     docker compose build logistics && deploy/docker/replace.sh logistics
#
# Run it from the root of the repository. COMPOSE is the command, by default `docker compose`. COMPOSE_FILE may name
# other files than docker-compose.yml.
set -euo pipefail
service=${1:?the argument SERVICE is missing}
read -ra compose <<<"${COMPOSE:-docker compose}"
# Longer than the proxy takes to find replicas (deploy/compose/upstreams.conf), in seconds.
lookup=6

running() { "${compose[@]}" ps --quiet "$service"; }
is_healthy() { [[ $(docker container inspect --format '{{.State.Health.Status}}' "$1") == healthy ]]; }

"${compose[@]}" run --rm "$service-migration"
mapfile -t old < <(running)
count=$((${#old[@]} > 0 ? ${#old[@]} : 1))
"${compose[@]}" up --detach --no-deps --no-build --no-recreate --scale "$service=$((${#old[@]} + count))" "$service"
mapfile -t new < <(running | grep --invert-match --fixed-strings "$(printf '%s\n' "${old[@]:-none}")")

for container in "${new[@]}"; do
    until is_healthy "$container"; do
        if ((SECONDS > 120)); then
            docker container logs --tail 20 "$container" >&2
            docker container rm --force "${new[@]}" >/dev/null
            echo "deploy/docker/replace.sh: a new replica of $service is not healthy; the old ones continue" >&2
            exit 1
        fi
        sleep 1
    done
done
sleep "$lookup"
if ((${#old[@]})); then
    docker container stop --time 60 "${old[@]}" >/dev/null
    docker container rm "${old[@]}" >/dev/null
fi
echo "$service: $count new replicas, ${#old[@]} old ones removed"
