#!/usr/bin/env bash
# Runs the tests of fiber on gallop, with the module in fasthttp/ in the place of fasthttp. Needs Go and the
# network or a module cache. Writes nothing to the work tree.
#
#   compat/run-fiber.sh          runs all packages. Fails if a test fails that is not in fiber-failures.txt, and
#                                prints the tests in that list that passed
#   compat/run-fiber.sh -base    runs the same tests on fasthttp itself, and prints the failures for comparison
#
# Many of these tests measure time. A failed test runs again by itself, up to three times, and fails if it never
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

# The tests of fiber write to their directories, so they run in a copy.
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
