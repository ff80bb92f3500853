#!/bin/sh
# Puts servers under the same load over loopback TCP and compares them: ./tcp.sh hello-64. Without arguments it lists the
# workloads. See cmd/versus.
cd "$(dirname "$0")" && exec go run ./cmd/versus "$@"
