#!/usr/bin/env bash
# Runs the tests of projects that build on net/http, with gallop in the place of its server and then of its transport, like
# run-nethttp.sh. Needs Go and the network or a module cache. Writes nothing to the work tree.
#
#   compat/run-suites.sh          fails if a test fails that is not in suites-failures.txt, and prints the tests in that list that passed
#   compat/run-suites.sh -base    runs the same tests on net/http itself, and prints the failures
set -euo pipefail
cd "$(dirname "$0")"

# Name of the suite, module, and directories of the packages whose tests run; . is the module itself.
suites='
chi           github.com/go-chi/chi/v5@v5.5.0                                           . middleware
echo          github.com/labstack/echo/v4@v4.16.0                                       . middleware
gin           github.com/gin-gonic/gin@v1.12.0                                          .
handlers      github.com/gorilla/handlers@v1.5.2                                        .
websocket     github.com/gorilla/websocket@v1.5.3                                       .
retryablehttp github.com/hashicorp/go-retryablehttp@v0.7.8                              .
otelhttp      go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp@v0.72.0     .
'

here=$PWD
list=$here/suites-failures.txt
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; [ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT
. ./judge.sh
. ./hooked.sh

# compile copies a module and compiles the tests of its packages with the hooks.
compile() {
  local name=$1 module=$2 dir program
  shift 2
  copy_module "$module" "$scratch/$name"
  cd "$scratch/$name"
  go mod edit -go=1.25.0 -replace="github.com/gallop-http/gallop=$here/.." -require=github.com/gallop-http/gallop@v0.0.0 \
    -replace="github.com/gallop-http/gallop/compat/stdtests=$scratch/tests" -require=github.com/gallop-http/gallop/compat/stdtests@v0.0.0
  for dir; do
    cd "$scratch/$name/$dir"
    program=$name-$dir
    printf 'package %s\n\nimport _ "github.com/gallop-http/gallop/compat/stdtests/hook"\n' "$(GOFLAGS=-mod=mod go list -e -f '{{.Name}}' .)" >zz_hook_test.go
    GOFLAGS=-mod=mod test_program "${program%-.}" "$PWD"
  done
}

begun=$SECONDS
set_up
while read -r name module packages; do
  [ -z "$name" ] || compile "$name" "$module" $packages
done <<<"$suites"
if [ "${1-}" = -base ]; then
  run_side none "${programs[@]}"
  exit
fi
run_sides
printf '%d s\n' $((SECONDS - begun))
