#!/usr/bin/env bash
# The suite of Node lock libraries; ../README.md says what it is given and what
# it has to print.
set -euo pipefail
cd "$(dirname "$0")"

for tool in node npm; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is not installed (Node 20 or newer is needed)" >&2
		exit 77
	fi
done

# Installed packages are kept while the lock file stays the same.
if ! cmp -s package-lock.json node_modules/.installed-lock.json; then
	npm ci --no-audit --no-fund --engine-strict=false >&2
	cp package-lock.json node_modules/.installed-lock.json
fi

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
exec node run.js
