#!/usr/bin/env bash
# Checks the models of this folder with spin, exhaustively.
#
#   ./check.sh          small configurations, and every rule switched off
#   ./check.sh -large   the large ones, one after the other: see README.md for
#                       how long they take and how much memory
#   ./check.sh -trail MODEL "-DFLAGS"   the steps to the violation, shortest first
#
# Needs spin and gcc (Debian: apt-get install spin gcc libc6-dev).
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
for tool in spin gcc; do
	if ! command -v "$tool" >/dev/null; then
		echo "$0: $tool is not installed (Debian: apt-get install spin gcc libc6-dev)" >&2
		exit 1
	fi
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# how MODEL sets the options of its search. Breadth-first: the violations it
# finds are the shortest. The choices of sets.pml are atomic sequences, whose
# inner steps that would store.
how() {
	search=-DBFS bounds=
	if [ "$1" = sets ]; then
		search= bounds=-m1000000
	fi
}

# build MODEL FLAGS GCCFLAGS compiles a verifier in a directory of its own and
# prints it.
build() {
	local dir
	how "$1"
	dir=$(mktemp -d "$work/XXXXXX") && cp "$here/$1.pml" "$dir" && cd "$dir" &&
		spin $2 -a "$1.pml" >build.out 2>&1 &&
		gcc -w -DSAFETY -DNOREDUCE $search $3 -o pan pan.c >>build.out 2>&1 || {
		echo "$1 $2: does not build" >&2
		cat build.out >&2
		return 1
	}
	echo "$dir"
}

states() { sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$1"; }

# holds MODEL FLAGS LEAST WHAT...: no violation in a complete search of at least
# LEAST states that came to each WHAT.
holds() {
	local model=$1 flags=$2 least=$3 dir n what
	shift 3
	dir=$(build "$model" "$flags" "${gcc:--O1 -DCOLLAPSE -DMEMLIM=1500}") || return 1
	how "$model"
	cd "$dir"
	$prefix ./pan -E $bounds -w"${hash:-22}" >out 2>&1
	n=$(states out)
	if ! grep -q 'errors: 0$' out || grep -qiE 'search not completed|max search depth|out of memory|pan: reached|aborted|assertion violated' out; then
		echo "FAIL $model $flags: violated, or not completed" >&2
		tail -n 30 out >&2
		./pan -r 2>/dev/null | sed -n 's/.*ACT /  /p' >&2
		return 1
	fi
	if ! awk "BEGIN { exit !(${n:-0} >= $least) }"; then
		echo "FAIL $model $flags: only ${n:-0} states, expected $least" >&2
		return 1
	fi
	for what; do
		if ! grep -qxF "reached: $what" out; then
			echo "FAIL $model $flags: never reached: $what" >&2
			return 1
		fi
	done
	printf 'holds     %-8s %-58s %11s states, depth %s%s\n' "$model" "$flags" "$n" \
		"$(sed -n 's/.*depth reached \([0-9]*\).*/\1/p' out)" "${report:+$(sed -n 's/^pan: elapsed time/,/p;s/^ *\([0-9.]*\).total actual.*/, \1 MB/p' out | tr '\n' ' ')}"
}

# violated MODEL FLAGS RULE: without the rule there is a violation.
violated() {
	local model=$1 flags=$2 rule=$3 dir
	dir=$(build "$model" "$flags -D$rule" "-O0 -DCOLLAPSE -DMEMLIM=1500") || return 1
	how "$model"
	cd "$dir"
	./pan -E $bounds -w20 >out 2>&1
	if ! grep -q 'errors: 1$' out || ! grep -q 'assertion violated' out; then
		echo "FAIL $model $flags -D$rule: no violation without the rule" >&2
		tail -n 30 out >&2
		return 1
	fi
	printf 'violated  %-8s %-58s in %s steps\n' "$model" "$flags -D$rule" "$(./pan -r 2>/dev/null | grep -c 'ACT ')"
}

# Each line of the lists is: model; flags; states at least; what must be reached.
small() {
	cat <<-'LIST'
		resync; -DSYM=1 -DNP=1 -DT=2 -DLEFT=0; 75000; a lock is copied; a master votes again; sources that disagree; a target that holds another value; a second lock after a loss; an extend after a loss
		resync; -DSYM=1 -DNP=1 -DT=2; 300000; a copy is saved from an undo; a second lock after a loss
		resync; -DNP=1 -DT=2 -DCR=2 -DLEFT=0 -DEXT=0; 100000; a missing marker; a lock is copied; a second lock after a loss
		resync; -DSYM=1 -DN=5 -DNP=1 -DT=2 -DLEFT=0 -DEXT=0 -DFLUSH=0; 750000; sources with different TTLs; the TTL of a copy is raised; a second lock after a loss
		records; -DNP=1 -DPR=1; 5000; a bootstrap; a grant after a loss; a rival after a loss
		records; -DNP=1 -DSTARTED=1 -DCR=2; 5000; a missing marker; an admission after a resync; a rival after a loss
		records; -DNP=1 -DSTARTED=1 -DCR=2 -DSTEPS=1; 10000; a withdrawal; an admission after a resync; a rival after a loss
		records; -DNP=1 -DSTARTED=1 -DSTEPS=1 -DPR=1; 5000; a withdrawal; a rival after a loss
		records; -DNP=1 -DSTARTED=1 -DCR=2 -DDURABLE=1 -DPR=1; 5000; an admission of a master that kept everything; a rival after a loss
		undo; -DLOSSES=0 -DEND=0; 1000000; an undo; a second attempt; a copy that is somebody's lock
		undo; -DLOSSES=0 -DEND=0 -DSHARED=1; 3000; an undo; a second attempt
		undo; -DRELEASE=0 -DLOSSES=1 -DEND=0; 10000; an undo; a second attempt; a copy by a dead connection
		undo; -DRELEASE=0 -DLOSSES=1 -DEND=0 -DVIA=1 -DREST=-1; 50000; an undo; a second attempt
		sets; -DCONF=3 -DLATE=1; 50000; a record that another proxy has changed; a grant in a new set
		sets; -DCONF=1 -DBOTH=0 -DLATE=1; 30000; a grant in a new set; a new set in force
		sets; -DCONF=2 -DBOTH=0 -DLATE=1; 10000; a grant in a new set
		sets; -DCONF=2 -DBOTH=0 -DLATE=1 -DNT=0 -DCR=1; 4000; an older set, which a proxy knows to be over
		sets; -DCONF=2 -DNT=0 -DHORIZON=1 -DBOTH=0; 10000; a new set in force
		sets; -DCONF=4 -DNT=1 -DLATE=1; 100000; a grant in a new set
		moved; -DBOTH=0 -DATOMIC=1; 300000; a server whose place another one has; an admission after a restoration; a round that begins anew; a lock is copied; a lock that a new server has voted for
		records; -DSTARTED=1; 50000; a record that another proxy has changed; an admission after a resync; a rival after a loss
	LIST
}

# model; flags; the rules that are switched off one by one.
rules() {
	cat <<-'LIST'
		resync; -DNP=1 -DT=2 -DLEFT=0; GEN=0 RECORD=0 QUARANTINE=0 WAIT=0 SOURCES=1 DISPUTED=0 OCCUPIED=0
		resync; -DNP=1 -DT=2; APART=0
		resync; -DNP=1 -DT=2 -DCR=2 -DLEFT=0 -DEXT=0; VOTING=0 VOUCH=0 SOURCEGEN=0 TARGETGEN=0 MARKER=0
		resync; -DSYM=1 -DN=5 -DNP=1 -DT=2 -DLEFT=0 -DEXT=0 -DFLUSH=0; SOURCES=2 WAIT=0
		resync; -DNP=1 -DT=3 -DLEFT=0; LARGEST=0
		resync; -DNP=1 -DT=3 -DSL=1 -DLEFT=0; PAD=0
		records; -DNP=1 -DSTARTED=1 -DCR=2; OWN=0 CAS=0 LOOKFIRST=0 ENDREAD=0 NONEGETSNONE=0 RESTORED=0 KEPT=0 GENERATION=0 MARKER=0 VOUCH=0
		records; -DNP=1 -DSTARTED=1 -DCR=2 -DSTEPS=1; WITHDRAW=0 STEPRESTORE=0 STEPWRITE=0
		records; -DNP=1 -DSTARTED=1 -DSTEPS=1 -DPR=1; NEWEST=0
		records; -DNP=1 -DPR=1; BOOTALL=0
		records; -DNP=1 -DSTARTED=1 -DCR=3; BOOTONCE=0
		records; -DSTARTED=2; REREAD=0
		sets; -DCONF=3 -DNT=0; CAS=0 FIRST=0 DECIDED=0
		sets; -DCONF=2 -DBOTH=0 -DLATE=1; SETENDS=0 JOINSYNC=0
		sets; -DCONF=2 -DBOTH=0; ROUNDSEATS=0
		sets; -DCONF=2 -DBOTH=0 -DLATE=1 -DNT=0 -DCR=1; MEMORY=0
		sets; -DCONF=2 -DNT=0 -DHORIZON=1 -DBOTH=0; DECIDED=0
		sets; -DCONF=4 -DNT=1 -DLATE=1; REFILL=0 LEAVEFIRST=0 LEAVEOWN=0 WAIT=0
		moved; -DBOTH=0 -DATOMIC=1; CLAIM=0 DEPOSES=0 RESEAT=0
		moved; -DBOTH=0 -DATOMIC=1 -DKNOWN=0; ENOUGH=0
		moved; -DBOTH=0 -DATOMIC=1 -DFLUSHES=1; WAIT=0
		moved; -DBOTH=0 -DATOMIC=1 -DRESTARTS=1 -DBEGIN=1; LATEST=0
		moved; -DBOTH=0 -DATOMIC=1 -DBEGIN=2; TIES=0
		moved; -DBOTH=0 -DATOMIC=1 -DBEGIN=4 -DMOST=3; CLAIMGONE=0
		moved; -DBOTH=0 -DATOMIC=1 -DNEW=2 -DBEGIN=3 -DMOST=6; ANSWERS=0
		undo; -DLOSSES=0 -DEND=0; ORDER=0 CREATED=0 WINDOW=0
		undo; -DLOSSES=1 -DEND=0; KILL=0
		undo; -DRELEASE=0 -DLOSSES=1 -DEND=0 -DVIA=1 -DREST=-1; LOOK=0 PATIENT=0
		undo; -DLOSSES=0 -DEND=0 -DVIA=1 -DSHARED=1; REST=-1
	LIST
}

large() {
	cat <<-'LIST'
		resync; -DNP=1 -DT=2 -DCR=2; 3000000; a missing marker; a copy is saved from an undo; a second lock after a loss
		resync; -DNP=2 -DT=2 -DLEFT=0; 3000000; a lock is copied; a second lock after a loss
		resync; -DSYM=1 -DN=5 -DNP=1 -DT=2 -DLEFT=0; 12000000; an extend after a loss; the TTL of a copy is raised; a second lock after a loss
		resync; -DSYM=1 -DN=5 -DNP=1 -DT=2 -DCR=2 -DLEFT=0 -DEXT=0 -DFLUSH=0; 39000000; sources with different TTLs; the TTL of a copy is raised; a second lock after a loss
		resync; -DSYM=1 -DNP=2 -DT=2 -DCR=2 -DLEFT=0 -DEXT=0 -DFLUSH=0; 26000000; sources that disagree; a lock is copied; a second lock after a loss
		sets; -DCONF=1; 7000000; of two changes one is decided; a grant in a new set
		sets; -DCONF=2; 5000000; of two changes one is decided; a grant in a new set
		sets; -DCONF=3; 400000; of two changes one is decided; a grant in a new set
		moved; -DBOTH=0; 400000; masters that disagree; a lock that a new server has voted for
		moved; -DATOMIC=1; 3900000; a server whose place another one has; a lock is copied; a lock that a new server has voted for
		moved; -DBOTH=0 -DATOMIC=1 -DBEGIN=2; 400000; a server whose place another one has; a lock that a new server has voted for
		moved; -DBOTH=0 -DATOMIC=1 -DBEGIN=1 -DRESTARTS=1; 700000; an admission of a master that kept everything; a lock that a new server has voted for
		resync; -DNP=1 -DT=3 -DSL=1 -DCR=2 -DLEFT=0; 10000000; a missing marker; sources with different TTLs; the TTL of a copy is raised; a second lock after a loss
	LIST
}

# each runs "holds" for the lines of a list.
each() {
	while IFS= read -r line; do
		IFS=';' read -ra part <<<"$line"
		for i in "${!part[@]}"; do part[i]=${part[i]# }; done
		start holds "${part[@]}"
	done
}

# start runs a job in the background, at most $jobs at a time.
start() {
	while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
	("$@") || echo >>"$work/failed" &
}

prefix=
case ${1:-} in
-large)
	prefix="nice -n 19" gcc="-O3 -DCOLLAPSE -DMEMLIM=12000" hash=27 report=1 jobs=1
	each < <(large)
	;;
-trail)
	dir=$(build "$2" "$3" "-O1 -DCOLLAPSE -DMEMLIM=4000") && cd "$dir" && ./pan -E -w22 >out 2>&1
	./pan -r 2>/dev/null | sed -n 's/.*ACT //p'
	exit
	;;
'')
	jobs=$(nproc)
	each < <(small)
	while IFS=';' read -r model flags names; do
		for rule in $names; do start violated "$model" "${flags# }" "$rule"; done
	done < <(rules)
	;;
*)
	sed -n '2,9s/^# \?//p' "$0" >&2
	exit 2
	;;
esac
wait
if [ -e "$work/failed" ]; then
	echo "$0: failed" >&2
	exit 1
fi
echo "$0: all as expected, after $SECONDS s"
