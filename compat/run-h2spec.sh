#!/usr/bin/env bash
# Runs h2spec in strict mode against four servers: on event loops and on goroutines, without TLS and with it. Fails if a case
# fails. Only http2/6.9.2/2 may be skipped, because it depends on timing. Needs Go and the network or a module cache. Writes
# nothing to the work tree.
set -euo pipefail
cd "$(dirname "$0")/h2spec"

module=github.com/summerwind/h2spec/cmd/h2spec
version=${H2SPEC_VERSION:-v2.2.1+incompatible}
scratch=$(mktemp -d)
server=
trap 'exec 3>&- || true; [ -z "$server" ] || wait "$server" || true; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

go build -o "$scratch/server" .
GOBIN=$scratch GOFLAGS=-modcacherw go install "$module@$version"
mkfifo "$scratch/input"
"$scratch/server" <"$scratch/input" >"$scratch/ports" &
server=$!
exec 3>"$scratch/input" # the server ends when this is closed
for _ in $(seq 600); do
  [ "$(wc -l <"$scratch/ports")" = 4 ] && break
  sleep 0.1
done
failed=0
while read -r kind port; do
  flags=()
  if [ "$kind" = tls ]; then flags=(-t -k); fi
  if ! "$scratch/h2spec" -h 127.0.0.1 -p "$port" -o 10 -S "${flags[@]}" >"$scratch/log" 2>&1 </dev/null; then failed=1; fi
  result=$(tail -n 1 "$scratch/log")
  printf 'h2spec %s, %s: %s\n' "$version" "$kind" "$result"
  if ! grep -Eq '^146 tests, (146 passed, 0 skipped|145 passed, 1 skipped), 0 failed$' <<<"$result"; then
    failed=1
    cat "$scratch/log"
  fi
done <"$scratch/ports"
[ "$(wc -l <"$scratch/ports")" = 4 ] || { printf 'not all servers have started\n'; failed=1; }
exit "$failed"
