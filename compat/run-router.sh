#!/usr/bin/env bash
# Runs the tests of fasthttp/router on gallop, with the module in fasthttp/ in the place of fasthttp. Fails if a test fails
# that is not in router-failures.txt. Needs Go and the network or a module cache. Writes nothing to the work tree.
set -euo pipefail
cd "$(dirname "$0")"

module=github.com/fasthttp/router
version=${ROUTER_VERSION:-v1.5.4}
here=$PWD
list=$here/router-failures.txt
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
. ./judge.sh

copy_module "$module@$version" "$scratch/router"
cd "$scratch/router"
go mod edit -replace="github.com/valyala/fasthttp=$here/fasthttp" \
  -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$here/.."
export GOFLAGS=-mod=mod
run_all "fasthttp/router $version"
judge
