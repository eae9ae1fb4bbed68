#!/bin/sh
# The suite for Go: see ../README.md.
set -eu
cd "$(dirname "$0")"
if ! command -v go >/dev/null; then
	echo "go is not installed" >&2
	exit 77
fi
export GOFLAGS=-mod=readonly
mkdir -p .build
go build -o .build/suite . >&2
if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
exec .build/suite "$@"
