#!/usr/bin/env bash
# Builds the suite with the versions that Cargo.lock pins, and runs it. See ../README.md.
set -euo pipefail
cd "$(dirname "$0")"

if ! command -v cargo >/dev/null || ! command -v cc >/dev/null; then
	echo "cargo or a C linker is not installed (Rust from 1.88 on)" >&2
	exit 77
fi

# Offline if everything has been fetched already.
cargo build -q -j1 --locked --offline >&2 2>/dev/null || cargo build -q -j1 --locked >&2

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
exec target/debug/redlock-proxy-clients
