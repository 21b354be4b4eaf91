#!/usr/bin/env bash
# Prints the lines of .env that pin the base images of docker-compose.yml and deploy/Dockerfile to their present
# digests. Pulls the images. Run it again to update the pins, then build and start as usual:
#
#     deploy/docker/pin.sh >pins && sed -i '/_IMAGE=/d' .env && cat pins >>.env && rm pins
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

# The names of the variables and the default images: ${DROVER_REDIS_IMAGE-redis:7.2-bookworm}
grep -ho 'DROVER_[A-Z]*_IMAGE-[^}]*' docker-compose.yml deploy/compose/*.yml | sort -u | while IFS= read -r default; do
    variable=${default%%-*}
    image=${default#*-}
    docker pull --quiet "$image" >/dev/null
    digest=$(docker image inspect --format '{{index .RepoDigests 0}}' "$image")
    echo "$variable=$image@${digest#*@}"
done
