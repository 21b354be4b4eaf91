#!/usr/bin/env bash
# Prints a docker program whose `build` uses BuildKit: one with the plugin buildx, or one from before version 23, which
# contains it. Fails if there is none, or if the engine does not run.
set -euo pipefail
for docker in $(type -ap docker); do
    version=$("$docker" version --format '{{.Client.Version}}' 2>/dev/null) || continue
    if "$docker" buildx version >/dev/null 2>&1 || ((${version%%.*} < 23)); then
        echo "$docker"
        exit
    fi
done
echo "no docker program with BuildKit: install Docker Engine and the plugin buildx, and start the engine" >&2
exit 1
