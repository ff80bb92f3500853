#!/usr/bin/env bash
# Runs the tests of go-github with nethttp.Transport as the transport of their client. All tests must pass, except those
# in go-github-failures.txt, which do not run.
#
# The module is copied from the module cache to a temporary directory and patched there.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd .. && pwd)
list=$PWD/go-github-failures.txt
. ./judge.sh
version=${GO_GITHUB_VERSION:-v89.0.0}
module=github.com/google/go-github/${version%%.*}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=$(cd "$work" && go mod download -json "$module@$version" | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p')
cp -r "$dir" "$work/go-github"
chmod -R u+w "$work/go-github"
cd "$work/go-github"
sed -i \
  -e 's/^\ttransport := &http.Transport{$/\ttransport := \&nethttp.Transport{/' \
  -e '/^\t\tMaxIdleConns: 20,$/d' \
  -e 's|^\t"net/http"$|\t"net/http"\n\n\t"github.com/gallop-http/gallop/nethttp"|' github/github_test.go
grep -q 'transport := &nethttp.Transport{' github/github_test.go
go mod edit -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$repo"
go mod tidy >/dev/null 2>&1
skip=$(known skipped | sed 's/^[^ ]* //' | escaped | paste -sd '|')
go test -vet=off -timeout 5m -skip "$skip" -v ./github >"$work/log" 2>&1 || failed=1
printf 'go-github %s: %d tests passed, %d failed\n' "$version" \
  "$(grep -c '^ *--- PASS' "$work/log")" "$(grep -c '^ *--- FAIL' "$work/log" || true)"
if [ -n "${failed:-}" ]; then
  grep -A20 '^ *--- FAIL\|^panic\|^FAIL\|\.go:[0-9]*:[0-9]*: ' "$work/log" | head -n 100
  exit 1
fi
