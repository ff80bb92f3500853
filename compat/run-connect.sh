#!/usr/bin/env bash
# Runs the tests of connect-go three times over HTTP/1.1: with net/http on both sides, with nethttp.Transport as the
# client, and with nethttp.NewServer as the server. Tests that pass the first time must pass every time. Tests that need
# HTTP/2 fail three times, or are in connect-failures.txt and do not run.
#
# The module is copied from the module cache to a temporary directory and patched there.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd .. && pwd)
list=$PWD/connect-failures.txt
. ./judge.sh
version=${CONNECT_VERSION:-v1.21.1}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$(cd "$work" && go mod download -json "connectrpc.com/connect@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -r "$dir" "$work/connect"
chmod -R u+w "$work/connect"
cp connect/gallop.go.txt "$work/connect/internal/memhttp/gallop.go"
cd "$work/connect"
sed -i \
  -e 's/) TransportHTTP1() \*http.Transport/) NetHTTPTransport() *http.Transport/' \
  -e 's/transport := s.TransportHTTP1()/transport := s.NetHTTPTransport()/' \
  -e 's/Transport: s.Transport()}/Transport: s.TransportHTTP1()}/' \
  -e 's/server.server.Serve(server.listener)/server.serve()/' \
  -e 's/s.server.Shutdown(ctx)/s.shutdown(ctx)/' \
  -e 's/s.server.Close()/s.close()/' internal/memhttp/memhttp.go
sed -i 's/transport := server.TransportHTTP1()/transport := server.NetHTTPTransport()/' ./*_test.go
go mod edit -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$repo"
go mod tidy >/dev/null 2>&1
go test -c -o "$work/connect.test" .

# results SIDE prints the tests that passed.
results() {
  GALLOP_SIDE=$1 "$work/connect.test" -test.v -test.short -test.skip "$skip" -test.timeout 60s >"$work/$1.log" 2>&1 || true
  sed -n 's/^ *--- PASS: \([^ ]*\) .*/\1/p' "$work/$1.log" | sort >"$work/$1.passed"
}

# The order matters for -skip. Patterns for deeper subtests also match parts of the tests above them, so they come last.
skip=$(known skipped | awk '{ print gsub("/", "/", $2), $2 }' | sort -n | sed 's/^[^ ]* //' | paste -sd '|')
failed=0
results none
for side in client server; do
  results "$side"
  comm -23 "$work/none.passed" "$work/$side.passed" >"$work/$side.lost"
  printf 'connect-go %s with gallop as a %s: %d of %d tests\n' "$version" "$side" \
    "$(comm -12 "$work/none.passed" "$work/$side.passed" | wc -l)" "$(wc -l <"$work/none.passed")"
  if [ -s "$work/$side.lost" ]; then
    cat "$work/$side.lost"
    failed=1
  fi
done
[ -z "${KEEP_LOGS:-}" ] || cp "$work"/*.log "$KEEP_LOGS"
exit "$failed"
