#!/usr/bin/env bash
# Runs the suite with Debian's PHP libraries, which it installs if it may. See ../README.md.
set -euo pipefail
cd "$(dirname "$0")"

packages=(php-cli php-redis php-predis php-illuminate-cache php-illuminate-redis php-symfony-lock)

installed() {
	[ "$(dpkg-query -W -f '${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | grep -cx installed)" = "${#packages[@]}" ]
}

if ! command -v dpkg-query >/dev/null; then
	echo "this suite takes PHP and its libraries from Debian: ${packages[*]}" >&2
	exit 77
fi
if ! installed && [ "$(id -u)" = 0 ]; then
	{ apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"; } >&2
fi
if ! installed; then
	echo "not all of these Debian packages are installed: ${packages[*]}" >&2
	exit 77
fi

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
exec php -d display_errors=stderr suite.php
