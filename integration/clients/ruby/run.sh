#!/usr/bin/env bash
# Runs the suite with Debian's ruby-redis, which it installs if it may. See ../README.md.
set -euo pipefail
cd "$(dirname "$0")"

installed() {
	ruby -e 'require "redis"' 2>/dev/null
}

if ! installed && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends ruby ruby-redis; } >&2
fi
if ! installed; then
	echo "ruby or its library redis is not installed (Debian: apt-get install ruby-redis)" >&2
	exit 77
fi

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
exec ruby suite.rb
