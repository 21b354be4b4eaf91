#!/usr/bin/env bash
# Replaces the replicas of a service by replicas of the present image and settings, without losing requests: applies the
# migrations, starts as many new replicas as there are, waits until they are healthy, and stops the old ones. If anything
# before that fails, it removes the new replicas, and the old ones continue.
#
#     docker compose build logistics && deploy/docker/replace.sh logistics
#
# Run it from the root of the repository. COMPOSE is the command, by default `docker compose`. COMPOSE_FILE may name
# other files than docker-compose.yml. New replicas have HEALTHY_SECONDS, by default 120, to become healthy.
set -euo pipefail
service=${1:?the argument SERVICE is missing}
read -ra compose <<<"${COMPOSE:-docker compose}"
limit=${HEALTHY_SECONDS:-120}
# Longer than the proxy takes to find replicas (deploy/compose/upstreams.conf), in seconds.
lookup=6
# Why the replicas are not replaced; empty once the new ones serve.
failure="the containers cannot be listed"
old=''

# Docker's ids of running containers, and of those that did not exist before, also if they do not run.
running() { "${compose[@]}" ps --quiet "$service" | sort; }
added() { "${compose[@]}" ps --all --quiet "$service" | sort | comm -13 <(echo "$old") -; }
is_healthy() { [[ $(docker container inspect --format '{{.State.Health.Status}}' "$1") == healthy ]]; }

# Removes the new replicas. The proxy may have found those that are healthy, so they finish their requests.
give_up() {
    [[ $failure ]] || return 0
    local container
    while read -r container; do
        if is_healthy "$container"; then
            docker container stop --time 60 "$container" >/dev/null || true
        fi
        docker container rm --force "$container" >/dev/null || true
    done < <([[ $is_begun ]] && added)
    echo "deploy/docker/replace.sh: $service was not replaced: $failure. The old replicas continue." \
        "Correct the cause, which is above, and run this script again." >&2
}
is_begun=''
trap give_up EXIT

failure="a migration failed"
if [[ $service != console ]]; then
    "${compose[@]}" run --rm "$service-migration"
fi

failure="the containers cannot be listed"
"${compose[@]}" rm --force "$service" # stopped replicas, which Compose would start again with their old image
old=$(running)
count=$(grep --count . <<<"$old") || count=0
new_count=$((count > 0 ? count : 1))

failure="the new replicas cannot be started"
is_begun=yes
"${compose[@]}" up --detach --no-deps --no-build --no-recreate --scale "$service=$((count + new_count))" "$service"
mapfile -t new < <(added)
if ((${#new[@]} != new_count)); then
    failure="there are ${#new[@]} new replicas instead of $new_count"
    exit 1
fi

SECONDS=0
for container in "${new[@]}"; do
    until is_healthy "$container"; do
        if ((SECONDS > limit)); then
            docker container logs --tail 20 "$container" >&2
            failure="a new replica is not healthy after $limit s"
            exit 1
        fi
        sleep 1
    done
done
sleep "$lookup"

failure=''
if ((count)); then
    mapfile -t stopped <<<"$old"
    docker container stop --time 60 "${stopped[@]}" >/dev/null
    docker container rm "${stopped[@]}" >/dev/null
fi
echo "$service: $new_count new replicas, $count old ones removed"
