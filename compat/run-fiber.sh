#!/usr/bin/env bash
# Runs the test suite of fiber on gallop: on the module in fasthttp/, in the place of fasthttp. Needs Go and
# the network or a module cache; writes nothing into the work tree.
#
#   compat/run-fiber.sh          all packages; fails if a test fails that is not in fiber-failures.txt, and
#                                tells which of those passed
#   compat/run-fiber.sh -base    the same tests on fasthttp itself; prints what fails there, for comparison
#
# Many of these tests measure time. One that fails is run again by itself, up to three times, and fails if it never
# passes.
set -euo pipefail
cd "$(dirname "$0")"

module=github.com/gofiber/fiber/v3
version=v3.5.0
fasthttp=v1.74.0
here=$PWD
list=$here/fiber-failures.txt
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; [ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT
. ./judge.sh

# A copy of fiber, since its tests write into their directories.
copy_module "$module@$version" "$scratch/fiber"
cd "$scratch/fiber"
if [ "${1-}" = -base ]; then
  go mod edit -require="github.com/valyala/fasthttp@$fasthttp"
else
  go mod edit -replace="github.com/valyala/fasthttp=$here/fasthttp" \
    -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$here/.."
fi
export GOFLAGS=-mod=mod

run_all "fiber $version"
if [ "${1-}" = -base ]; then
  failures "$scratch/out"
  tell_broken
else
  judge
fi
