#!/usr/bin/env bash
# The scenarios for the lock libraries of Python; ../README.md says what is
# expected of such a suite. One virtual environment per version of redis-py,
# filled from requirements/NAME.txt, which pip-compile made from NAME.in for
# Python 3.11:
#   pip-compile --generate-hashes --allow-unsafe --strip-extras --no-header -o NAME.txt NAME.in
set -euo pipefail
cd "$(dirname "$0")"

python=${PYTHON:-python3}
if ! "$python" -c 'import venv, ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
	echo "$python: Python 3.11 or newer with the venv module is not installed (Debian: apt-get install python3-venv)" >&2
	exit 77
fi

# install NAME makes .venv-NAME, unless it is there with the same requirements.
install() {
	local venv=.venv-$1 want=requirements/$1.txt
	if cmp -s "$want" "$venv/installed.txt"; then
		return
	fi
	rm -rf "$venv"
	"$python" -m venv "$venv"
	local pip=("$venv/bin/pip" install --quiet --disable-pip-version-check --require-hashes)
	"${pip[@]}" --requirement requirements/build.txt
	# Two libraries come as source only; with this they are built by the pinned setuptools.
	"${pip[@]}" --no-build-isolation --requirement "$want"
	cp "$want" "$venv/installed.txt"
}

for name in redis4 redis5 redis8; do
	install "$name" >&2
done

if [ -n "${INSTALL_ONLY:-}" ]; then
	exit
fi
.venv-redis4/bin/python -m suite redis_py aioredlock
.venv-redis5/bin/python -m suite redis_py
.venv-redis8/bin/python -m suite redis_py django_redis pottery redlock_py python_redis_lock celery_once
