# Sourced by every check, inside the machine, as the ordinary user.
set -u
export PATH=$HOME/.local/bin:$PATH LC_ALL=C.UTF-8
die() { echo "$*" >&2; exit 1; }

# within SECONDS CMD…: until it succeeds.
within() {
  local end=$(($(date +%s%N) + $1 * 1000000000)); shift
  until "$@" >/dev/null 2>&1; do
    [ "$(date +%s%N)" -lt "$end" ] || die "not in time: $*"
    sleep 0.05
  done
}
not() { ! "$@"; }

submit() { pasar submit --parsable --gpus 0 "$@"; }
# value JOB KEY: the last value of a key in a job's JSON.
value() { pasar show "$1" --json | grep -o "\"$2\":\(\"[^\"]*\"\|[^,}]*\)" | tail -1 | sed 's/^[^:]*://; s/"//g'; }
state() { pasar show "$1" --json | grep -o '"state":"[a-z]*"' | head -1 | cut -d'"' -f4; }
is() { [ "$(state "$1")" = "$2" ]; }
# attempt JOB: the directory of its first attempt.
attempt() { echo "$HOME/.local/share/pasar/jobs/$1/1"; }
claim() { grep -o "\"$2\":\(\"[^\"]*\"\|[^,}]*\)" "$(attempt "$1")/claim" | tail -1 | sed 's/^[^:]*://; s/"//g'; }
supervisor() { claim "$1" pid; }
# held JOB: it must be in a unit of its own. One that took more than 5 s to start is not used for a while.
held() { [ "$(claim "$1" place)" = systemd ] || die "job $1 is not held by a unit: $(journalctl --user -u pasard --no-pager -o cat | grep -a "best place" | tail -1)"; }
unit() { basename "$(claim "$1" cgroup)"; }
# ticker: a job that prints a line each 0.1 s; lines JOB: how many it has printed.
ticker() { submit "$@" -- sh -c 'i=0; while :; do i=$((i+1)); echo tick $i; sleep 0.1; done'; }
lines() { grep -ac tick "$(attempt "$1")/output.log"; }
prints() { local n; n=$(lines "$1"); within 30 more "$1" "$n"; }
more() { [ "$(lines "$1")" -gt "$2" ]; }
begun() { within 30 is "$1" running; within 30 more "$1" 0; }
main() { systemctl --user show -p MainPID --value pasard.service; }
daemon() { pasar version --json | grep -o '"pid":[0-9]*' | cut -d: -f2; }
is_service() { [ "$(main)" != 0 ] && [ "$(daemon)" = "$(main)" ]; }
gone() { not kill -0 "$1"; }
replaced() { local p; p=$(main); [ "$p" != 0 ] && [ "$p" != "$1" ]; }
same() { [ "$1" = "$2" ] || die "$3: $1, then $2"; }
says() { case $1 in *"$2"*) ;; *) die "«$1» doesn't say «$2»" ;; esac; }
# drop_in LINES: the service has them until the check ends.
drop_in() {
  mkdir -p ~/.config/systemd/user/pasard.service.d
  printf '[Service]\n%b\n' "$1" >~/.config/systemd/user/pasard.service.d/check.conf
  trap 'rm -r ~/.config/systemd/user/pasard.service.d; systemctl --user daemon-reload; systemctl --user try-restart pasard.service' EXIT
  systemctl --user daemon-reload
}
