#!/usr/bin/env bash
# Runs net/http's own tests, and those of httputil and httptest, with gallop in the place of net/http's server and then of its
# transport. The sources come from GOROOT and are rewritten by stdtests/rewrite. HTTP/2 modes are skipped. Needs Go and, unless
# they are in the module cache, the network; writes nothing into the work tree.
#
#   compat/run-nethttp.sh          fails if a test fails that is not in nethttp-failures.txt, and prints which tests of the list
#                                  passed. Tests that the list marks as slow do not run
#   compat/run-nethttp.sh -all     runs the slow tests, too
#   compat/run-nethttp.sh -base    the same tests on net/http itself; prints the tests that fail there
#
# Many of these tests depend on time. One that fails runs again by itself, up to three times, and fails if it never passes.
set -euo pipefail
cd "$(dirname "$0")"

here=$PWD
list=$here/nethttp-failures.txt
scratch=$(mktemp -d)
trap '[ -n "${KEEP-}" ] || rm -rf "$scratch"' EXIT
. ./judge.sh

# judge.sh has packages; here they are sides, as in server/httputil. stdtests/run prints the tests that failed.
broken() { :; }
failures() { sort -u "$1"; }

# again runs one test by itself until it passes, and fails if it does not.
again() {
  local program=${1#*/} top=${2%%/*}
  [ "$program" != "$1" ] || program=http
  for _ in 1 2 3; do
    run_side "${1%%/*}" -only "^$top\$" -logs "$scratch/again" "$program.test" >"$scratch/rerun" 2>/dev/null
    if ! grep -qxF "$1 $2" "$scratch/rerun"; then return 0; fi
  done
  return 1
}

run_side() { "$scratch/run" -side "$@"; }

begun=$SECONDS
mkdir "$scratch/tests"
cp -r stdtests/. "$scratch/tests"
cd "$scratch/tests"
go mod edit -replace="github.com/gallop-http/gallop=$here/.."
go build -o "$scratch/rewrite" ./rewrite
go build -o "$scratch/run" ./run
"$scratch/rewrite" .
for package in http httputil httptest; do
  go test -c -tags overlaid -overlay overlay.json -o "$package.test" "./$package"
done

programs=(http.test httputil.test httptest.test)
if [ "${1-}" = -base ]; then
  run_side none "${programs[@]}"
  exit
fi
if [ "${1-}" = -all ]; then
  sed 's/ slow$//' "$list" >"$scratch/${list##*/}"
  list=$scratch/${list##*/}
fi
known skipped >"$scratch/skipped"
for side in server client; do
  run_side "$side" -skip "$scratch/skipped" -logs "$scratch/$side.log" "${programs[@]}" >>"$scratch/out"
done
printf 'net/http of %s: %d s\n' "$(go env GOVERSION)" $((SECONDS - begun))
judge
