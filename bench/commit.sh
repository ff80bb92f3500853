#!/bin/sh
# Prints the commit that the tree stands at, with -dirty behind it if anything but results differs from that commit.
# With -clean it fails instead: results that nobody can repeat are not saved.
set -eu
cd "$(dirname "$0")"
commit=$(git describe --always 2>/dev/null) || { echo unknown; [ "${1:-}" != -clean ]; exit; }
if [ -n "$(git status --porcelain -- ':/' ':(exclude,top)bench/results')" ]; then
	commit=$commit-dirty
	if [ "${1:-}" = -clean ]; then
		echo "the tree differs from its commit: commit first, then save results" >&2
		exit 1
	fi
fi
echo "$commit"
