#!/bin/bash
# pasar on a machine with systemd, as its users meet it: installed, set up, rebooted, logged out of, killed.
#
#   run.sh                 all checks, a line each; exit code 1 if one failed, 2 if the machine didn't come up
#   run.sh PATTERN         only those whose name matches (a bash pattern); setup runs in any case
#
# Environment:
#   SYSTEMD_HOST   the tool that runs such a machine: `up --fresh`, `push DIR DEST`, `run [-r] TEXT`,
#                  `reboot [--hard]`, `down`. Without it nothing is checked.
#   LIMIT          seconds that a check may take (120)
#   JOBS           how many short jobs must leave nothing behind (200)
#   KEEP           1 leaves the machine up for a look
#   GO             the go command
set -u -o pipefail
cd "$(dirname "$0")/../.." || exit 2
host=${SYSTEMD_HOST:-../shared/tools/systemd-host/systemd-host}
pattern=${1:-*}
if [ ! -x "$host" ]; then
  echo "skipped: no $host to run a machine with systemd (SYSTEMD_HOST names another)"
  exit 0
fi
export SYSTEMD_HOST_NAME=${SYSTEMD_HOST_NAME:-pasar-test}
logs=$(mktemp -d "${TMPDIR:-/tmp}/pasar-systemd.XXXXXX")
trap '[ "${KEEP:-}" = 1 ] || "$host" down; rm -rf "$logs"; exit 130' INT TERM
failed=0 passed=0 began=$(date +%s)

# as the user, in a login session of its own, which ends with the command; as root
user() { inside "exec timeout -k 5 ${LIMIT:-120} bash -c $(printf %q ". ~/checks/inside.sh; $1")"; }
root() { inside -r "exec timeout -k 5 120 bash -c $(printf %q "$1")"; }

# inside [-r] TEXT: a machine that hangs is given up, and its power cut.
inside() {
  timeout -k 5 $((2 * ${LIMIT:-120} + 60)) "$host" run "$@"
  local rc=$?
  if [ $rc -ge 124 ] && ! timeout -k 5 60 "$host" run -r true >/dev/null 2>&1; then
    echo "the machine hangs; its power is cut"
    "$host" reboot --hard
    rc=125
  fi
  return $rc
}

# check NAME TEXT: TEXT must succeed as the user. verify NAME CMD…: the command must, here.
check() { verify "$1" user "$2"; }
verify() {
  local name=$1 t0 t; shift
  [[ $name == $pattern ]] || return 0
  t0=$(date +%s%N)
  "$@" >"$logs/last" 2>&1
  local rc=$?
  t=$((($(date +%s%N) - t0) / 100000000))
  if [ $rc = 0 ]; then
    passed=$((passed + 1)); printf 'ok    %s (%d.%d s)\n' "$name" $((t / 10)) $((t % 10))
  else
    failed=$((failed + 1)); printf 'FAIL  %s (exit %d, %d.%d s)\n' "$name" $rc $((t / 10)) $((t % 10))
    sed 's/^/      | /' "$logs/last" | tail -n 12
    cp "$logs/last" "$logs/$(tr -c 'a-z0-9\n' - <<<"$name")"
  fi
}

# script NAME: the checks of NAME.sh, which runs inside as the user and says ok or FAIL of each by itself.
script() {
  local line over=
  [[ $1 == $pattern ]] || return 0
  while read -r line; do
    case $line in
      ok\ *) passed=$((passed + 1)); echo "ok    $1: ${line#ok }" ;;
      FAIL\ *) failed=$((failed + 1)); echo "FAIL  $1: ${line#FAIL }" ;;
      'all good' | *' failed') over=1 ;;
      *) echo "      | $line" ;;
    esac
  done < <("$host" run "exec timeout 900 bash ~/checks/$1.sh 2>&1")
  [ -n "$over" ] || { failed=$((failed + 1)); echo "FAIL  $1: it did not come to its end"; }
}

finish() {
  if [ $failed -gt 0 ]; then
    root 'journalctl --no-pager -n 2000' >"$logs/journal" 2>&1
    cp "${PASAR_SYSTEMD_HOST:-/var/tmp/pasar-systemd-host}/run/$SYSTEMD_HOST_NAME/console.log" "$logs/console" 2>/dev/null
  fi
  [ "${KEEP:-}" = 1 ] || "$host" down
  echo "$passed ok, $failed failed, $(($(date +%s) - began)) s"
  if [ $failed -gt 0 ]; then echo "logs: $logs"; exit 1; fi
  rm -rf "$logs"
}

# ------------------------------------------------------------------ the machine and what is installed on it
stage=$logs/stage
make --no-print-directory install GO="${GO:-go}" DESTDIR="$stage" PREFIX=/home/tester/.local >"$logs/install" 2>&1 ||
  { cat "$logs/install"; exit 2; }
# On a machine that is busy the tool may take a start that is slow for one that failed.
"$host" up --fresh 2>"$logs/up" || "$host" up 2>>"$logs/up" || { cat "$logs/up"; exit 2; }
"$host" push "$stage/home/tester/.local" /home/tester/.local && "$host" push test/systemd /home/tester/checks || exit 2

# ------------------------------------------------------------------------------------------------- setup
only=$pattern; pattern='*'
check 'setup installs the service' '
  mkdir -p ~/.config/pasar; echo "cpu_jobs = 16" >~/.config/pasar/config.toml # the machine may have one core
  says "$(pasar setup)" "runs as a service"
  is_service || die "the daemon is not the service"
  systemctl --user is-enabled pasard.service pasard.socket
  systemd-analyze --user verify ~/.config/systemd/user/pasard.service || exit
  says "$(systemctl --user show -p StatusText pasard)" "0 jobs running, 0 waiting"'
pattern=$only
check 'a second setup changes nothing' '
  p=$(main); says "$(pasar setup)" "runs as a service already"; same "$p" "$(main)" pid
  pasar setup --json | grep -q "\"state\":\"unchanged\""'
check 'the doctor is content with it' '
  pasar doctor && pasar doctor | grep -q "^ok  *service"
  pasar doctor | grep "^ok  *place" | grep -q systemd'

# -------------------------------------------------------------------------------------------------- jobs
check 'a job has a unit, an attach socket, and nothing of the service in its environment' '
  j=$(submit --name env -- sh -c "env; sleep 1000"); within 30 is $j running; held $j
  says "$(unit $j)" .service
  systemctl --user is-active "$(unit $j)"
  [ -S "$(claim $j socket)" ]
  within 5 grep -q PASAR_JOB_ID "$(attempt $j)/output.log"
  pasar logs $j | grep -E "^(NOTIFY_SOCKET|LISTEN_|WATCHDOG_|INVOCATION_ID|JOURNAL_STREAM|SYSTEMD_EXEC_PID)" && exit 1
  tr "\0" "\n" </proc/$(supervisor $j)/environ | grep -E "^(NOTIFY_SOCKET=.*pasard|LISTEN_|WATCHDOG_)" && exit 1
  pasar cancel --now $j; pasar wait $j; [ $? = 3 ]'
check 'restarting the service harms no job' '
  j=$(ticker); begun $j; was="$(supervisor $j) $(value $j pid)"; p=$(main)
  systemctl --user restart pasard.service; replaced $p; prints $j
  same "$was" "$(supervisor $j) $(value $j pid)" pids; is $j running; is_service
  echo "$(lines $j) lines" ; pasar logs $j | awk "{ if (\$2 != ++n) exit 1 }" || die "a line is missing"
  pasar cancel --now $j'
check 'kill -9 of pasard: systemd starts it again, jobs go on' '
  j=$(ticker); begun $j; was="$(supervisor $j) $(value $j pid)"; p=$(main)
  kill -9 $p; within 30 replaced $p; within 30 is $j running; prints $j
  same "$was" "$(supervisor $j) $(value $j pid)" pids; pasar cancel --now $j'
check 'a pasard that hangs is started again, jobs go on' '
  drop_in "WatchdogSec=5\nTimeoutAbortSec=5"; systemctl --user restart pasard.service
  j=$(ticker); begun $j; was="$(supervisor $j) $(value $j pid)"; p=$(main)
  sleep 7; same $p "$(main)" "fed, it was killed"
  kill -STOP $p; within 40 replaced $p; within 30 is $j running; prints $j
  same "$was" "$(supervisor $j) $(value $j pid)" pids
  journalctl --user -u pasard --no-pager | grep -q "Watchdog timeout"
  pasar cancel --now $j'
check 'kill -9 of a supervisor: its job is dead within 2 s, and lost' '
  j=$(submit -- sh -c "setsid sleep 1001 & trap \"\" TERM HUP; echo tick; while :; do sleep 1002; done"); begun $j; held $j
  pids=$(cat "$(claim $j cgroup)/job/cgroup.procs"); [ $(echo $pids | wc -w) -ge 3 ]
  kill -9 $(supervisor $j); t0=$(date +%s%N)
  for p in $pids; do within 4 gone $p; done
  t=$((($(date +%s%N) - t0) / 1000000)); echo "dead after $t ms"; [ $t -le 2000 ]
  within 30 is $j failed; says "$(pasar why $j)" lost'
check 'systemctl stop of a job'"'"'s unit ends that job and no other' '
  a=$(ticker); b=$(ticker); begun $a; begun $b; held $a
  systemctl --user stop "$(unit $a)"; pasar wait $a; is $a failed || is $a cancelled; pasar why $a
  is $b running; prints $b; pasar cancel --now $b'
check '--ram bounds a job: kernel_oom, the limit in the summary, exit code 2' '
  j=$(submit --ram 64M -- perl -e "\$x = q(a) x (300*1024*1024); sleep 100")
  pasar wait $j; rc=$?; s=$(pasar why $j); echo "$s"; says "$s" kernel_oom; says "$s" "64 MiB"; same 2 $rc "exit code"'
check '--ram bounds its children: kernel_oom, though the job itself exits' '
  j=$(submit --ram 64M -- sh -c "perl -e \"\\\$x = q(a) x (300*1024*1024)\"; echo worker ended with \$?; exit 3")
  pasar wait $j; rc=$?; s=$(pasar why $j); echo "$s"; says "$s" kernel_oom; says "$s" "64 MiB"; same 2 $rc "exit code"'
check 'a job that outlives a kernel_oom and dies of something else is told as that' '
  j=$(submit --ram 64M -- sh -c "echo epoch 1; perl -e \"\\\$x = q(a) x (300*1024*1024)\"; echo retrying with a smaller batch; for i in 2 3 4; do echo epoch \$i: loss 0.\$i; done; trian")
  pasar wait $j; rc=$?; s=$(pasar why $j); echo "$s"; says "$s" bad_command; says "$s" trian; same 1 $rc "exit code"'
check 'a bound on the unit above is told as kernel_oom too' '
  mkfifo ~/go$$; j=$(submit -- sh -c "echo tick; read x <~/go$$; exec perl -e \"\\\$x = q(a) x (300*1024*1024); sleep 100\""); begun $j; held $j
  systemctl --user set-property --runtime "$(unit $j)" MemoryMax=96M MemorySwapMax=0; echo >~/go$$; rm ~/go$$
  pasar wait $j; rc=$?; s=$(pasar why $j); echo "$s"; says "$s" kernel_oom; says "$s" "96 MiB"; same 2 $rc "exit code"'

# --------------------------------------------------------------------------------- starting and stopping it
check 'the socket starts the service' '
  systemctl --user stop pasard.service; same 0 "$(main)" "its pid"; pasar ls >/dev/null && is_service'
check 'after pasar shutdown the next command has systemd start it' '
  says "$(pasar shutdown)" "systemd starts it"; same 0 "$(main)" "its pid"; pasar ls >/dev/null && is_service'
check 'with the socket stopped a command still has systemd start it' '
  systemctl --user stop pasard.socket; same 0 "$(main)" "its pid"; [ ! -e $XDG_RUNTIME_DIR/pasar/pasard.sock ]
  pasar ls >/dev/null && is_service && systemctl --user is-active pasard.socket'
check 'a second pasard refuses, and says who listens' '
  systemctl --user stop pasard.service; s=$(pasard 2>&1); same 70 $? "exit code"; says "$s" "systemd listens"
  s=$(pasard --autostart 2>&1); same 0 $? "exit code"; pasar ls >/dev/null'
check 'without XDG_RUNTIME_DIR, as from cron, the same daemon is found' '
  env -i HOME=$HOME PATH=$PATH pasar version --json | grep -q "\"pid\":$(main)[,}]"'
check 'a reload is told to systemd' 'systemctl --user reload pasard && is_service && systemctl --user is-active pasard'
check 'a service that fails is worked around, and comes back' '
  drop_in "ExecStart=\nExecStart=/nowhere/pasard"; systemctl --user stop pasard.socket pasard.service
  s=$(pasar ls 2>&1) || die "$s"; says "$s" "so pasard is started without"; same 0 "$(main)" "its pid"
  pasar doctor | grep -E "^(problem|warning)  *service" || die "the doctor sees nothing"'
check 'and setup has it hand over to the mended one' 's=$(pasar setup) && says "$s" "has handed over" && is_service'

# ---------------------------------------------------------------------------------------- leaving nothing
LIMIT=$((120 + ${JOBS:-200} * 10)) check "${JOBS:-200} jobs leave no process, unit, cgroup, socket, descriptor, temporary file" '
  count() {
    echo "supervisors $(pgrep -cx pasar-superviso)" # a name has 15 bytes
    echo "units $(systemctl --user list-units --all --no-legend "pasar-*" | wc -l)"
    echo "cgroups $(find /sys/fs/cgroup -type d -name "pasar-*" | wc -l)"
    echo "sockets $(find $XDG_RUNTIME_DIR/pasar -name "*.sock" | wc -l)"
    echo "other files $(find $XDG_RUNTIME_DIR/pasar -type f ! -name supervisors.log | wc -l)"
    echo "descriptors $(ls /proc/$(main)/fd | wc -l)"
    echo "temporary $(find /tmp /var/tmp /dev/shm -user $(id -un) 2>/dev/null | wc -l)"
  }
  settled() { [ "$(count)" = "$before" ]; }
  j=$(submit -- true); pasar wait $j; sleep 7; before=$(count); echo "$before"
  n='"${JOBS:-200}"'; first=
  for i in $(seq $n); do j=$(submit -- sh -c "setsid sleep 1000 >/dev/null 2>&1 & echo hoge"); first=${first:-$j}; done
  pasar wait $first-$j >/dev/null || exit
  pasar logs $first-$j | grep -c hoge | grep -qx $n || die "lines are missing"
  for i in $(seq 100); do settled && break; sleep 0.2; done
  settled || { echo "--- then"; count; exit 1; }'

# ------------------------------------------------------------------------------------------------ reboots
for how in clean hard; do
  check "before a $how reboot" '
    pasar cancel --now @r >/dev/null 2>&1
    r=$(ticker --tag r); q=$(ticker --tag r --hold); b=$(submit --tag r --hold --bid 2000 -- true); begun $r
    pasar ls --json --state queued | grep -o "\"id\":[0-9]*" >~/queue; echo "$r $q $b" >~/ids; sync ~/ids ~/queue'
  verify "a $how reboot" "$host" reboot $([ $how = hard ] && echo --hard)
  # A clean one may leave the supervisor time to see its job end by the machine's SIGTERM.
  check "after a $how reboot: pasard is there, the queue as answered, the running job over" 'how='$how'
    [ -s ~/ids ] && [ -s ~/queue ]; read r q b <~/ids
    within 40 replaced none; p=$(main)
    same "$(cat ~/queue)" "$(pasar ls --json --state queued | grep -o "\"id\":[0-9]*")" queue
    same $p "$(daemon)" "who answers"
    is $r failed; s=$(pasar why $r); case $how,$s in *lost:*|clean,*"SIGTERM from outside"*) ;; *) die "$s" ;; esac
    [ $how = hard ] || says "$(pasar logs $r)" "tick 1" # a power cut may take what was not written back
    pasar release $b; pasar wait $b || die "it does not run"; pasar cancel --now $q'
done

# ------------------------------------------------------------------------------------------------- logins
check 'a job outlives the login it was submitted from' 'j=$(ticker); begun $j; echo "$j $(value $j pid)" >~/ids'
check 'and is there in the next one' 'read j p <~/ids; prints $j; same $p "$(value $j pid)" pid; pasar cancel --now $j'
check 'setup --uninstall leaves nothing, and jobs go on' '
  j=$(ticker); begun $j; p=$(value $j pid)
  pasar setup --uninstall || exit
  [ -z "$(find ~/.config/systemd -name "pasard*")" ] || die "$(find ~/.config/systemd)"
  [ -z "$(systemctl --user list-units --all --no-legend "pasard*")$(systemctl --user list-unit-files --no-legend "pasard*")" ]
  [ ! -e $XDG_RUNTIME_DIR/pasar/pasard.sock ] && not pgrep -x pasard || die "the daemon is there"
  prints $j; pasar ls >/dev/null; is $j running; same $p "$(value $j pid)" pid
  says "$(pasar setup --uninstall)" "no service to remove"; pasar cancel --now $j; pasar wait $j; [ $? = 3 ]'
check 'setup takes over from a daemon that a command started, with its jobs' '
  j=$(ticker); begun $j; was="$(daemon) $(value $j pid)"
  s=$(pasar setup) || die "$s"; says "$s" "has handed over"; is_service; prints $j
  same "${was#* }" "$(value $j pid)" pid; pasar setup --uninstall; pasar cancel --now $j; pasar wait $j; pasar shutdown'
script places

# lingers on|off: with it off there is no systemd of the user's while nobody is logged in.
lingers() {
  [[ $pattern == '*' || $pattern == *linger* ]] || return 0
  if [ $1 = on ]; then root 'loginctl enable-linger tester; for i in $(seq 300); do [ -S /run/user/1000/bus ] && break; sleep 0.1; done'
  else root 'loginctl disable-linger tester; for i in $(seq 300); do [ -e /run/user/1000/bus ] || break; sleep 0.1; done'; fi
}
lingers off
check 'without linger setup refuses, with the reason and the fix' '
  s=$(pasar setup 2>&1); same 70 $? "exit code"; says "$s" "linger is off"; says "$s" "loginctl enable-linger"
  s=$(pasar setup --linger 2>&1); same 70 $? "exit code"; says "$s" "sudo loginctl enable-linger tester"
  [ -z "$(find ~/.config/systemd -name "pasard*")" ]'
check 'without linger the place is session, submit warns once, and a logout harms no job' '
  j=$(ticker 2>~/e); s=$(cat ~/e); says "$s" linger; begun $j; same session "$(claim $j place)" place
  k=$(submit -- true 2>~/e); [ -z "$(cat ~/e)" ] || die "twice: $(cat ~/e)"
  pasar doctor | grep -q "linger is off" || die "the doctor says nothing"
  echo "$j $(value $j pid)" >~/ids'
check 'the job without linger is there in the next login' 'read j p <~/ids; prints $j; same $p "$(value $j pid)" pid; echo "$j $p $(daemon)" >~/ids'
lingers on
check 'a daemon from before linger was turned on is found, and hands over with its job' '
  read j p d <~/ids; same $d "$(daemon)" "who answers"; [ ! -e $XDG_RUNTIME_DIR/pasar ]
  s=$(pasar setup) || die "$s"; says "$s" "has handed over"; is_service; prints $j; same $p "$(value $j pid)" pid
  same "$(main)" "$(PASAR_SOCKET=$HOME/.local/share/pasar/run/pasard.sock daemon)" "who answers the job"
  same session "$(claim $j place)" place; k=$(submit -- sleep 1000); within 30 is $k running; same systemd "$(claim $k place)" place
  pasar cancel --now $j $k; pasar wait $j $k; pasar setup --uninstall'
lingers off
if [[ $pattern == '*' || $pattern == *linger* ]]; then
  root 'mkdir -p /etc/systemd/logind.conf.d; printf "[Login]\nKillUserProcesses=yes\n" >/etc/systemd/logind.conf.d/k.conf; systemctl restart systemd-logind'
fi
check 'KillUserProcesses=yes without linger is refused, with the fix' '
  s=$(pasar submit --gpus 0 -- true 2>&1); same 70 $? "exit code"; says "$s" KillUserProcesses; says "$s" "loginctl enable-linger"
  pasar doctor | grep -q "^problem.*KillUserProcesses" || die "the doctor says nothing"
  daemon >~/pid; [ -s ~/pid ]'
lingers on
check 'a login that ended takes its pasard along, and a job'"'"'s queue is kept' 'not kill -0 $(cat ~/pid) && pasar status >/dev/null'
check 'with linger, KillUserProcesses=yes harms neither service nor jobs' '
  pasar setup && j=$(ticker) && begun $j && echo "$j $(value $j pid) $(main)" >~/ids'
check 'nor in the next login, with linger' 'read j p d <~/ids; prints $j; same $p "$(value $j pid)" pid; same $d "$(main)" "the service"; pasar cancel --now $j'

finish
