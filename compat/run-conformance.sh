#!/usr/bin/env bash
# Runs the conformance suite of Connect, which covers the protocols Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2: its
# reference server on nethttp.NewServer, on both engines, and its reference client on nethttp.Transport. Prints the number
# of cases. All of them have to pass.
#
# The module is copied from the module cache to a temporary directory and patched there.
set -euo pipefail
cd "$(dirname "$0")"
repo=$(cd .. && pwd)
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT
. ./judge.sh
version=${CONFORMANCE_VERSION:-v1.0.7}

suite=$scratch/conformance
copy_module "connectrpc.com/conformance@$version" "$suite"
cp conformance/gallop.go.txt "$suite/internal/app/referenceserver/gallop.go"
cd "$suite"
sed -i -e 's/^type stdHTTPServer /type netHTTPServer /' -e 's/(s \*stdHTTPServer)/(s *netHTTPServer)/' internal/app/referenceserver/server.go
sed -i -e 's/&http\.Transport{/\&nethttp.Transport{/' -e 's|^\t"github.com/quic-go/quic-go"|\t"github.com/gallop-http/gallop/nethttp"\n&|' \
  internal/app/referenceclient/transports.go
go mod edit -require=github.com/gallop-http/gallop@v0.0.0 -replace="github.com/gallop-http/gallop=$repo"
go mod tidy >/dev/null 2>&1
mkdir "$scratch/bin"
go build -o "$scratch/bin" ./cmd/connectconformance ./cmd/referenceserver ./cmd/referenceclient

cat >"$scratch/config.yaml" <<'YAML'
features:
  versions: [HTTP_VERSION_1, HTTP_VERSION_2]
  protocols: [PROTOCOL_CONNECT, PROTOCOL_GRPC, PROTOCOL_GRPC_WEB]
  codecs: [CODEC_PROTO, CODEC_JSON]
  compressions: [COMPRESSION_IDENTITY, COMPRESSION_GZIP, COMPRESSION_BR, COMPRESSION_ZSTD, COMPRESSION_DEFLATE, COMPRESSION_SNAPPY]
  supportsTlsClientCerts: true
  supportsHalfDuplexBidiOverHttp1: true
YAML

# conform WHAT MODE PROGRAM runs the cases for a server or a client.
conform() {
  local log=$scratch/log
  if "$scratch/bin/connectconformance" --conf "$scratch/config.yaml" --mode "$2" \
    -- "$scratch/bin/$3" >"$log" 2>&1; then
    printf '%s: %s\n' "$1" "$(grep -E '^[0-9]+ passed|passed' "$log" | tail -n 1)"
  else
    cat "$log"
    printf '%s: failed\n' "$1"
    failed=1
  fi
}

failed=0
GALLOP_ENGINE=loop conform 'server on event loops' server referenceserver
GALLOP_ENGINE=goroutine conform 'server on goroutines' server referenceserver
conform 'client' client referenceclient
exit "$failed"
