#!/usr/bin/env bash
# Runs net/http's own tests, and those of httputil and httptest, with gallop in the place of net/http's server and then of its
# transport. The sources come from GOROOT and are rewritten by stdtests/rewrite. HTTP/2 modes are skipped. Needs Go and the
# network or a module cache. Writes nothing to the work tree.
#
#   compat/run-nethttp.sh          fails if a test fails that is not in nethttp-failures.txt, and prints the tests in that list
#                                  that passed. Tests that the list marks as slow do not run
#   compat/run-nethttp.sh -all     also runs the slow tests
#   compat/run-nethttp.sh -base    runs the same tests on net/http itself, and prints the failures
#
# Many of these tests depend on time. A failed test runs again by itself, up to three times, and fails if it never passes.
set -euo pipefail
cd "$(dirname "$0")"

here=$PWD
list=$here/nethttp-failures.txt
scratch=$(mktemp -d)
trap '[ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT
. ./judge.sh
. ./hooked.sh

begun=$SECONDS
set_up
for package in http httputil httptest; do test_program "$package" "$scratch/tests/$package"; done
if [ "${1-}" = -base ]; then
  run_side none "${programs[@]}"
  exit
fi
if [ "${1-}" = -all ]; then
  sed 's/ slow$//' "$list" >"$scratch/${list##*/}"
  list=$scratch/${list##*/}
fi
run_sides
printf 'net/http of %s: %d s\n' "$(go env GOVERSION)" $((SECONDS - begun))
