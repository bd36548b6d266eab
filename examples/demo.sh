#!/usr/bin/env bash
# A tour of pasar on a daemon of its own, in directories that are thrown away: nothing of yours is
# touched, and nothing is left running, also after Ctrl-C.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for tool in go python3 make; do
	command -v "$tool" >/dev/null || { echo "demo: $tool is needed" >&2; exit 1; }
done

echo "Building pasar …"
make --no-print-directory build >/dev/null

home=$(mktemp -d "${TMPDIR:-/tmp}/pasar-demo.XXXXXX")
for name in $(compgen -e | grep '^PASAR_' || true); do unset "$name"; done
export PASAR_ADDRESS=off
export XDG_CONFIG_HOME=$home/config XDG_DATA_HOME=$home/data XDG_STATE_HOME=$home/state XDG_RUNTIME_DIR=$home/runtime
mkdir -m 700 "$XDG_RUNTIME_DIR"
PATH=$PWD/bin:$PATH

# ours prints the processes that this demo started and that outlive a command: they carry its directory.
ours() {
	local environ
	for environ in /proc/[0-9]*/environ; do
		if grep -qsF "XDG_DATA_HOME=$home/data" "$environ"; then
			local pid=${environ#/proc/}
			pid=${pid%/environ}
			[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || readlink -q "/proc/$pid/exe" | grep -q pasar && echo "$pid"
		fi
	done 2>/dev/null || true
}

clean_up() {
	trap '' INT TERM HUP
	local i left
	pasar cancel --now @demo >/dev/null 2>&1 || true
	pasar wait --timeout 10s @demo >/dev/null 2>&1 || true
	pasar shutdown >/dev/null 2>&1 || true
	for ((i = 0; i < 50; i++)); do
		left=$(ours)
		[ -n "$left" ] || break
		sleep 0.1
	done
	if [ -n "$left" ]; then
		echo "demo: still running after five seconds, stopped now: $left" >&2
		kill -TERM $left 2>/dev/null || true
	fi
	rm -rf "$home"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

say() { printf '\n%s\n' "$*"; }

# run shows a command and runs it.
run() {
	printf '\n$ %s\n' "$*"
	"$@"
}

say "The first command starts the daemon. This machine, as pasar sees it:"
run pasar status

say "A job: a small network is trained, with progress, checkpoints and a result."
if [ -t 0 ] && [ -t 1 ]; then
	run pasar submit --gpus 0 --time 30s --name train --tag demo -- python3 examples/train.py
	say "You can attach to its terminal at any time. (Ctrl-C leaves it, and ends this demo.)"
	pasar wait 1 --for started >/dev/null
	run pasar attach 1
	pasar wait 1 --timeout 1s 2>/dev/null || exit 130 # left before its end
else
	run pasar submit --gpus 0 --time 30s --name train --tag demo --follow -- python3 examples/train.py
fi

say "What pasar kept of it:"
run pasar show 1

say "A second one fails on purpose. Waiting for it costs nothing, and says how it ended:"
run pasar submit --gpus 0 --time 5s --name broken --tag demo -- python3 examples/train.py --fail-at 300
code=0
run pasar wait 2 || code=$?
echo "(exit code $code)"
run pasar why 2

say "The market:"
run pasar ls

say "The end: jobs would go on without the daemon, but here there are none."
run pasar shutdown
[ "$code" = 1 ] || { echo "demo: expected exit code 1 of the failed job, got $code" >&2; exit 1; }
