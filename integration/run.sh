#!/usr/bin/env bash
# Runs every check of this project: format, vet, staticcheck, known
# vulnerabilities, unit tests with the race detector and the simulation, the
# models, each fuzz target for a moment, real servers and clients, faults of
# every kind, hostile clients, lock libraries of other languages, and the
# benchmark once, to see that it runs.
#
# Needs Go with a C compiler, spin, redis-server and redis-cli. Languages, the
# stores of the benchmark, chromium, prometheus, and a container engine that this
# machine lacks are reported as not run; with CI=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."

# By count: with a time, a target that is in the middle of a run when it is over fails
# now and then (https://go.dev/issue/75804, until Go 1.27).
fuzz_time=${FUZZ_TIME:-5000x}
not_run=

step() {
	printf '\n== %s (after %d s)\n' "$*" "$SECONDS"
}

for tool in go gcc spin redis-server redis-cli; do
	if ! command -v "$tool" >/dev/null; then
		echo "$0: $tool is not installed (Debian: apt-get install redis-server redis-tools spin gcc libc6-dev)" >&2
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

# Both as of a fixed version, and no dependency of any module here.
step staticcheck
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
go run "$staticcheck" ./...
(cd integration && go run "$staticcheck" ./...)

step govulncheck
known_vulnerabilities() {
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ${VULNDB:+-db "$VULNDB"} ./... 2>&1
}
for module in . integration; do
	status=0
	report=$(cd "$module" && known_vulnerabilities) || status=$?
	echo "$report"
	if [ "$status" -ne 0 ] && [[ $report != *"fetching vulnerabilities"* ]]; then
		exit 1 # go run says 1 for whatever it ran
	elif [ "$status" -ne 0 ]; then
		# Neither a pass nor a fault of this project: said here and at the end.
		not_run="govulncheck, because its database cannot be reached; VULNDB=file:///… names a copy"
		echo "NOT RUN: $not_run" >&2
	fi
done

step go test -race
go test -race -timeout 15m ./...

# Nothing that follows depends on how fast this machine is, until it is waited for.
step what the lock libraries need, in the background
installed=$(mktemp)
(cd integration && exec nice go run ./clients/run -install) >"$installed" 2>&1 &
installing=$!

step simulation, without the race detector: 10,000 schedules, and each rule switched off
go test -timeout 15m -run '^TestSimulation' -v ./redlock -sim.parallel="$(nproc)"

step models of the rules, checked exhaustively
./redlock/model/check.sh

for package in $(go list ./...); do
	targets=$(go test -list '^Fuzz' "$package" | grep '^Fuzz' || true)
	for target in $targets; do
		step "fuzz $target in $package"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "$fuzz_time" "$package"
	done
done

step what the lock libraries need, to the end
if ! wait "$installing"; then # it is tried again below
	tail -n 40 "$installed"
fi
rm "$installed"

# The time of day against the time since the machine was started, in
# hundredths of a second. The clocks of the masters under test are this one.
clock() {
	local up
	read -r up _ </proc/uptime
	echo $(($(date +%s%N) / 10000000 - 10#${up/./}))
}

# -count=1: the binary under test is no input that the test cache knows of
integration_tests() {
	(cd integration && go test -count=1 -timeout 15m ./...)
}

step integration tests
clock_before=$(clock)
if ! integration_tests; then
	moved=$(($(clock) - clock_before))
	if [ "${moved#-}" -lt 5 ]; then
		exit 1
	fi
	step "once more: the clock of this machine was stepped by $((moved * 10)) ms meanwhile, and masters whose clock steps lose their votes"
	integration_tests
fi

step container image: built, run and stopped by a Docker daemon of its own
(cd integration && go test -count=1 -timeout 15m ./deploy -run '^TestImage$' -v -image)

step faults of every kind, and planted bugs
(cd integration && go run ./torture -quick)

step real lock libraries, in the languages that this machine has
(cd integration && go run ./clients/run -check)

step hostile clients, each for a moment
(cd integration && go run ./attack -quick)

step benchmark, short
(cd integration && go run ./bench -quick)
profile=$(mktemp)
(cd integration && go run ./bench -quick -profile "$profile")
rm "$profile"

step the stack of a reader that waits, without the race detector
go test -run '^TestWhoRestsHasASmallStack$' -v ./proxy

if [ -n "$not_run" ]; then
	step "all passed that was run; NOT RUN: $not_run"
else
	step all passed
fi
