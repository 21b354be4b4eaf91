# shellcheck shell=bash disable=SC2154 # `here` is the folder
# Read by `start` and `people`.
export LOGIN_DATA=${LOGIN_DATA:-/data} LOGIN_SECRETS=${LOGIN_SECRETS:-/run/secrets} LOGIN_RUN=${LOGIN_RUN:-/tmp/login}
export LOGIN_LISTEN=${LOGIN_LISTEN:-0.0.0.0:8444}
export LLNG_DEFAULTCONFFILE=$LOGIN_RUN/lemonldap-ng.ini PERL5LIB=$here/lib
