#!/bin/bash
# Where supervisors live, on a machine with systemd and with linger on, looked at from inside by the ordinary
# user. A line for each check: "ok NAME" or "FAIL NAME: WHY".
set -u
export PATH=$HOME/.local/bin:$PATH
export XDG_RUNTIME_DIR=/run/user/$(id -u)
fails=0
ok() { echo "ok $1"; }
bad() { echo "FAIL $1: $2"; fails=$((fails+1)); }
units() { systemctl --user list-units 'pasar-*.service' --no-legend --plain --all | awk '{print $1}'; }
cgroups() { find /sys/fs/cgroup/user.slice/user-$(id -u).slice/user@$(id -u).service -type d -name 'pasar-*'; }
until_ok() { # until_ok SECONDS CMD...
  local n=$(( $1 * 20 )); shift
  for ((i = 0; i < n; i++)); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; return 1; }
submit() { pasar submit --gpus 0 --parsable "$@"; }
job() { pasar show --json "$1"; }
field() { pasar show --json "$1" | tr ',{}' '\n\n\n' | sed -n "s/^\"$2\"://p" | tr -d '"' | head -1; }
running() { [ "$(field "$1" state)" = running ]; }
over() { case "$(field "$1" state)" in completed|failed|cancelled) return 0;; esac; return 1; }
cgroup_of() { sed -n 's/^0:://p' "/proc/$1/cgroup"; }
pid_of() { field "$1" pid; }

# 1 a job is in job/ of its own unit, its supervisor in sup/, and the unit is asked for what it needs
id=$(submit -- sleep 1000); until_ok 10 running $id
pid=$(pid_of $id); cg=$(cgroup_of $pid); unit=$(basename "$(dirname "$cg")")
case "$cg" in */user@*/app.slice/pasar-*.service/job) ok in-own-unit;; *) bad in-own-unit "$cg";; esac
p=$(systemctl --user show $unit -p Delegate -p KillMode -p OOMPolicy -p CollectMode -p Type -p SendSIGHUP | sort | tr '\n' ' ')
[ "$p" = "CollectMode=inactive-or-failed Delegate=yes KillMode=mixed OOMPolicy=continue SendSIGHUP=no Type=exec " ] && ok properties || bad properties "$p"
main=$(systemctl --user show $unit -p MainPID --value)
case "$(cgroup_of $main)" in */sup) ok supervisor-apart;; *) bad supervisor-apart "$(cgroup_of $main)";; esac
[ "$(cat /proc/$pid/oom_score_adj)" -ge $(( $(cat /proc/$main/oom_score_adj) + 200 )) ] && ok oom-apart || bad oom-apart "$(cat /proc/$pid/oom_score_adj) $(cat /proc/$main/oom_score_adj)"
[ "$(ulimit -Hn)" = "$(awk '/Max open files/{print $5}' /proc/$pid/limits)" ] && ok limits || bad limits "$(grep 'open files' /proc/$pid/limits)"

# 2 kill -9 of the supervisor: its job is dead within 2 s, lost, and the unit is gone
kill -9 $main; until_ok 2 over $id && [ ! -e /proc/$pid ] && [ "$(field $id reason)" = lost ] && ok kill-supervisor || bad kill-supervisor "$(field $id state) $(field $id reason)"
until_ok 5 test -z "$(units | grep $unit)" && ok unit-gone || bad unit-gone "$(units)"

# 3 systemctl stop of the unit: the job gets SIGTERM and its grace, and the record says so
id=$(submit -- sh -c 'trap "sleep 1; echo saved; exit 7" TERM; while :; do sleep 0.1; done'); until_ok 10 running $id; sleep 0.3
unit=$(basename "$(dirname "$(cgroup_of $(pid_of $id))")")
systemctl --user stop $unit; until_ok 5 over $id
[ "$(field $id exit_code)" = 7 ] && pasar logs $id | grep -q saved && ok systemctl-stop || bad systemctl-stop "$(job $id)"

# 4 kill -9 of the daemon: jobs live, and the next daemon has them
id=$(submit -- sleep 1000); until_ok 10 running $id; pid=$(pid_of $id)
kill -9 $(pasar status --json | tr ',{}' '\n\n\n' | sed -n 's/^"pid"://p' | head -1)
sleep 0.5; [ -e /proc/$pid ] && running $id && [ "$(pid_of $id)" = $pid ] && ok kill-daemon || bad kill-daemon "$(field $id state)"

# 5 cgroup.kill of the daemon's own cgroup: jobs live
dcg=$(cgroup_of $(pasar status --json | tr ',{}' '\n\n\n' | sed -n 's/^"pid"://p' | head -1))
case "$dcg" in */pasar-*) bad daemon-apart "$dcg";; *) ok daemon-apart;; esac
pasar cancel --now $id >/dev/null; until_ok 5 over $id

# 6 --ram is held to: the kernel kills, the verdict says so, exit code 2
if [ -e /sys/fs/cgroup/user.slice/user-$(id -u).slice/user@$(id -u).service/app.slice/memory.max ]; then
  id=$(submit --ram 64M -- sh -c 'head -c 150M /dev/zero | tail | wc -c; exit 3'); pasar wait $id >/tmp/err 2>&1; rc=$?
  [ $rc = 2 ] && grep -q 'the kernel killed a process of it: over its 64 MiB.*then it exited with code 3' /tmp/err && ok worker-oom || bad worker-oom "rc $rc: $(cat /tmp/err)"
  id=$(submit --ram 64M -- tail /dev/zero); pasar wait $id >/tmp/err 2>&1; rc=$?
  [ $rc = 2 ] && [ "$(field $id reason)" = kernel_oom ] && grep -q '64 MiB of host memory (--ram)' /tmp/err && ok kernel-oom || bad kernel-oom "rc $rc: $(cat /tmp/err)"
  # 7 so is MemoryMax of a slice above
  systemctl --user set-property --runtime app.slice MemoryMax=100M
  id=$(submit -- tail /dev/zero); pasar wait $id >/tmp/err 2>&1; rc=$?
  systemctl --user set-property --runtime app.slice MemoryMax=infinity
  [ $rc = 2 ] && grep -q '100 MiB of host memory that its cgroup allows' /tmp/err && ok slice-oom || bad slice-oom "rc $rc: $(cat /tmp/err)"
else echo "skip kernel-oom: no memory controller"; fi

# 8 a fork bomb under a limit on processes, frozen or not, is gone within 2 s of a cancel
id=$(submit -- sh -c 'ulimit -u 300; trap "" TERM; b() { b | b & b; }; b 2>/dev/null; while :; do sleep 1; done'); until_ok 10 running $id; sleep 1
cg=/sys/fs/cgroup$(cgroup_of $(pid_of $id)); t0=$(date +%s%N); pasar cancel --now $id >/dev/null
until_ok 10 over $id && [ ! -e $cg ] && ok "fork-bomb $(( ($(date +%s%N) - t0) / 1000000 )) ms" || bad fork-bomb "$(cat $cg/cgroup.procs 2>/dev/null | wc -l) left"

# 9 many jobs leave no unit and no cgroup but the warm one's
n=${JOBS:-20}; t0=$(date +%s%N)
ids=$(for i in $(seq $n); do submit -- true; done)
pasar wait $ids >/dev/null 2>&1
echo "   $n jobs in $(( ($(date +%s%N) - t0) / 1000000 )) ms"
few() { [ $(units | wc -l) -le 4 ] && [ $(cgroups | wc -l) -le 4 ]; }
until_ok 10 few && ok nothing-left || bad nothing-left "$(units | wc -l) units, $(cgroups | wc -l) cgroups"
pasar shutdown >/dev/null; none() { [ -z "$(units)" ] && [ -z "$(cgroups)" ]; }
until_ok 10 none && ok nothing-at-all-left || bad nothing-at-all-left "$(units) $(cgroups)"

# 10 a daemon that a job started outlives the job and its cgroup
rm -f /tmp/escaped
id=$(submit -- sh -c 'pasar shutdown; sleep 2; setsid pasard >/dev/null 2>&1 </dev/null & sleep 4; touch /tmp/escaped; exit 0')
until_ok 60 test -e /tmp/escaped; sleep 3; until_ok 10 over $id; d=$(pasar status --json | tr ',{}' '\n\n\n' | sed -n 's/^"pid"://p' | head -1)
case "$(cgroup_of $d)" in */pasard-*.scope) ok daemon-escapes;; *) bad daemon-escapes "$(cgroup_of $d)";; esac
pasar shutdown >/dev/null

# 11 the cgroup of the daemon's own unit is killed: jobs live
systemd-run --user -q --unit=daemon-to-kill -p KillMode=process "$(command -v pasard)"; sleep 1
id=$(submit -- sleep 1000); until_ok 10 running $id; pid=$(pid_of $id)
cg=$(systemctl --user show daemon-to-kill -p ControlGroup --value)
echo 1 > /sys/fs/cgroup$cg/cgroup.kill; sleep 1
[ -e /proc/$pid ] && running $id && [ "$(pid_of $id)" = "$pid" ] && ok kill-daemons-cgroup || bad kill-daemons-cgroup "$(field $id state)"
pasar cancel --now $id >/dev/null; until_ok 10 over $id; pasar shutdown >/dev/null
[ $fails = 0 ] && echo "all good" || echo "$fails failed"
exit $fails
