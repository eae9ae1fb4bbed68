#!/usr/bin/env bash
# Runs every check of this project: format, vet, unit tests with the race
# detector and the simulation, each fuzz target for a moment, real servers and
# clients, lock libraries of other languages, and the benchmark once, to see that
# it runs.
#
# Needs Go with a C compiler (for -race), redis-server and redis-cli. Languages
# that this machine lacks are reported as not run; with CI=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

fuzz_time=${FUZZ_TIME:-10s}

step() {
	printf '\n== %s (after %d s)\n' "$*" "$SECONDS"
}

for tool in go gcc redis-server redis-cli; do
	if ! command -v "$tool" >/dev/null; then
		echo "$0: $tool is not installed (Debian: apt-get install redis-server redis-tools gcc libc6-dev)" >&2
		exit 1
	fi
done

step gofmt
unformatted=$(gofmt -l .)
if [ -n "$unformatted" ]; then
	printf 'not formatted:\n%s\n' "$unformatted" >&2
	exit 1
fi

step go vet
go vet ./...
(cd integration && go vet ./...)

step go test -race
go test -race -timeout 15m ./...

step simulation, without the race detector: 10,000 schedules
go test -timeout 15m -run '^TestSimulation$' -v ./redlock

for package in $(go list ./...); do
	targets=$(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
	for target in $targets; do
		step "fuzz $target in $package"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzz_time" "$package"
	done
done

step integration tests
# -count=1: the binary under test is no input that the test cache knows of
(cd integration && go test -count=1 -timeout 15m ./...)

step real lock libraries, in the languages that this machine has
(cd integration && go run ./clients/run -check)

step benchmark, short
(cd integration && go run ./bench -quick)

step all passed
