#!/usr/bin/env bash
# Builds the modules and runs each in a JVM of its own: two generations of
# drivers cannot be on one class path. See ../README.md.
set -euo pipefail
cd "$(dirname "$0")"

for tool in java javac mvn; do
	if ! command -v "$tool" >/dev/null; then
		echo "$tool is not installed (a JDK from 17 on, and Maven)" >&2
		exit 77
	fi
done

build() {
	mvn -B -q "$@" process-classes >&2
}

# Offline if everything is in the local repository already.
build -o 2>/dev/null || build

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
for module in plain spring7 spring6; do
	java -Xmx512m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
		-cp "$module/target/classes:suite/target/classes:$module/target/lib/*" \
		"locks.$module.Main"
done
