#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The commands that record, for real: exit statuses, signals, limits, what is printed, clear errors. Needs root.
#   cli.sh WEIR WORKLOAD
set -u
weir=$(realpath "$1") workload=$(realpath "$2")
. "$(dirname "$0")/../common/tap.sh"
gone() { [ -z "$(find /sys/fs/cgroup -maxdepth 4 -name "weir-$1" 2>/dev/null)" ]; }

run record -- true
ok "a command is recorded" is 0
ok "what was recorded and the next command are told" grep -q "next: weir report" err
ok "nothing was lost" grep -q "lost 0" err
strace -fqo syncs -e trace=fsync,fdatasync "$weir" record -q -o short.trace -- true
ok "a short trace is synced, and the folder that has its name" [ "$(grep -o 'f[a-z]*sync([0-9]*) *= 0' syncs | sed 's/(.*//' | xargs)" = "fsync fdatasync" ]
ok "the trace is private" [ "$(stat -c %a weir.trace)" = 600 ]
run record -- true
ok "the old trace is kept" [ -s weir.trace.old ]
name=$'a\e[31mb\'c.trace'
run record -o "$name" -- true
ok "a trace's name is shown with its control characters spelt out" [ "$status.$(tr -dc '\033' <err)" = 0. ]
ok "and as a shell takes it" [ -s "$(eval "set -- $(sed -n 's/^next: weir report //p' err)"; echo "$1")" ]
run synth --rows 10 -o "$name"
ok "synth does the same" [ "$status.$(tr -dc '\033' <err)" = 0. ]
rm -f a*b*.trace*
sh -c '"$0" record -q -o parent.trace -p $$ --duration 0.3s; :' "$weir"
"$weir" report parent.trace >out
ok "weir is no program of the shell that it was started in" grep -q "still running 1" out
mkfifo going
"$weir" record -o busy.trace -- sh -c 'echo >going; read x <going' >busy.out 2>&1 &
recorder=$!
read -r x <going
run record -o busy.trace -- true
ok "a trace that is being recorded keeps its name" says 1 "busy.trace: is being recorded"
echo >going
wait $recorder
ok "and goes on" grep -q "next: weir report busy.trace" busy.out
run record -- sh -c 'sleep 1000 >/dev/null 2>&1 & echo $! >left'
ok "what outlives the command is told" grep -q "1 process that it started continues unrecorded: weir record -p $(cat left)" err
kill "$(cat left)"
chmod 711 .
install -d -o 65534 theirs
SUDO_UID=65534 run record -o theirs/sudo.trace -- true
ok "the caller of sudo owns the trace" [ "$(stat -c %u theirs/sudo.trace)" = 65534 ]
run record -q -- sh -c 'exit 0' 'two words'
ok "arguments of a process, as a shell would take them" [ "$("$weir" query --csv \
	"from process | argv == \"sh -c 'exit 0' 'two words'\" | select pid" | wc -l)" = 2 ]
run record -q -- true $(seq 3000)
"$weir" report >out
ok "arguments beyond what is kept are told" grep -q "cut 1 " out
run record -q -o full.trace -- sh -c 'echo four >four'
ok "how full what was written to is" [ "$("$weir" query -i full.trace --csv \
	'from mark | where name == "weir.filesystem" | select text' | grep -o ' size=[0-9]*')" = " size=$(($(stat -f -c '%b * %S' .)))" ]
strace -o /dev/null sleep 100 &
tracer=$!
until [ "$(cat /proc/$tracer/comm)" = strace ]; do sleep 0.05; done
run record -q -o traced.trace -- true
ok "another tracer is named" [ "$("$weir" query -i traced.trace --csv \
	'from mark | where name == "weir.tracer" | select text' | grep -c "^$tracer strace$")" = 1 ]
kill $tracer
run record -q -- sh -c 'exit 42'
ok "the status of the command" is 42
ok "quiet" [ ! -s err ]
run record -q -- sh -c 'kill -9 $$'
ok "a command that a signal ended" is 137
run record -q --duration 0.3s -- sleep 2
ok "a duration" is 0
run record --size 200KiB -- sh -c 'while :; do ls -lR /usr/lib >/dev/null; done'
ok "a size" [ "$(stat -c %s weir.trace)" -lt 3000000 ]
ok "the command runs on" kill "$(sed -n 's/.*still running, pid //p' err)"
sleep 100 &
target=$!
"$weir" record -q -p $target >out 2>err </dev/null &
recorder=$!
for _ in $(seq 600); do ls -l /proc/$recorder/fd 2>/dev/null | grep -q bpf_link && break; sleep 0.1; done
sleep 0.3
kill $target
wait $recorder
status=$?
ok "a process that ends" is 0
# A thread that calls all the time, also while the recorder begins and ends.
dd if=/dev/zero of=/dev/null bs=1 2>/dev/null &
target=$!
proofs=0
for _ in 1 2 3 4 5 6; do
	run record -p $target --duration 0.1s --lossless
	grep -q "lost 0 (sequence gap-free)\|LOST" err && proofs=$((proofs + 1))
done
ok "the beginning of a recording leaves no gap" [ $proofs = 6 ]
kill $target
# A thread that is in one call all the while: stat names it, and no selection takes it for more than it is.
sleep 1000 &
target=$!
for _ in $(seq 600); do grep -q '^sleep' /proc/$target/comm && grep -q '^State:.S' /proc/$target/status && break; sleep 0.1; done
run stat -p $target --duration 0.3s
ok "stat names what still runs" grep -q "^still running   1 call   sleep clock_nanosleep" out
run stat -p $target --duration 0.3s --json
ok "and counts it in JSON" grep -q '"still_running": 1}' out
run record -p $target --duration 0.3s --slower 0.2s -o slow.trace
ok "a call that lasts longer than asked is recorded" grep -q "slow.trace   1 calls\? " err
run record -p $target --duration 0.3s --slower 1h -o slow.trace
ok "one that does not is not" grep -q "slow.trace   0 calls" err
kill $target
if [ -d /sys/fs/cgroup/pids ] && [ -d /sys/fs/cgroup/memory ]; then
	run record --cgroup /sys/fs/cgroup/pids --cgroup /sys/fs/cgroup/memory --duration 1s -o slow.trace
	ok "control groups of two hierarchies" says 1 "different control group hierarchies"
fi
run record --slower 1h -o slow.trace -- "$workload" threads .
ok "nor one that never returns" grep -q "slow.trace   0 calls" err
if [ "$(uname -m)" = x86_64 ]; then
	aio='import ctypes; c = ctypes.c_ulong(); s = ctypes.CDLL(None).syscall; s(206, 1, ctypes.byref(c)); s(209, c, 0, None); s(209, c, 0, None)'
	run record -o aio.trace -- python3 -c "$aio"
	run report aio.trace
	ok "requests of libaio are in the figures" test -z "$(grep "hand over" out)"
	run stat -- python3 -c "$aio"
	ok "and in those of stat" test -z "$(grep "hand over" err)"
fi
run record -o compat.trace -- "$workload" compat .
ok "32-bit calls are counted" grep -q "32-bit call" err
ok "and missing from what is recorded" grep -q "lost [1-9]" err
sh -c 'trap "exit 5" INT; echo up >up; while :; do sleep 0.05; done' 2>/dev/null &
wait_pid=$!
"$weir" record -q -o sig.trace -- sh -c 'trap "exit 9" TERM; echo up >up2; while :; do sleep 0.05; done' 2>err &
recorder=$!
for _ in $(seq 1200); do [ -e up2 ] && break; sleep 0.05; done
kill -TERM $recorder
wait $recorder
status=$?
ok "SIGTERM is passed on, and the status comes back" is 9
kill $wait_pid
# A signal to the whole group reaches the command by itself.
setsid "$weir" record -q -o sig.trace -- sh -c 'trap "echo got >>got" TERM; echo up >up3; until [ -e enough ]; do sleep 0.05; done; exit 7' 2>err &
recorder=$!
for _ in $(seq 1200); do [ -e up3 ] && break; sleep 0.05; done
kill -TERM -- -$recorder
for _ in $(seq 1200); do [ -e got ] && break; sleep 0.05; done
sleep 0.5
touch enough
wait $recorder
status=$?
ok "a signal to the group: the recording goes on until the command ends" is 7
ok "and the command gets it once" [ "$(wc -l <got)" = 1 ]
run record -q -P '*here.txt' -o "a star.trace" -- sh -c 'mkdir -p deep/er; echo 1 >deep/er/there.txt; echo 1 >deep/er/other'
"$weir" trace -i "a star.trace" >out 2>err
ok "a glob that begins with a star is looked for anywhere" grep -q 'there.txt' out
ok "and takes nothing else" [ "$(grep -vc 'there.txt\|+++' out)" = 0 ]
run record -o "a star.trace" -- true
ok "a name with a blank is quoted" grep -q "next: weir report 'a star.trace'" err
run record -q -u nobody -- id -u
ok "another user" [ "$(cat out)" = 65534 ]
# The recorder's own pid names its cgroup: others may be running.
bash -c 'echo $$ >pid; exec "$@"' bash "$weir" record -q --lossless -o l.trace -- dd if=/dev/zero of=/dev/null bs=1 count=100000 \
	>out 2>err </dev/null
status=$?
ok "lossless" is 0
ok "its cgroup is gone" gone "$(cat pid)"
run report -i l.trace
ok "lossless lost nothing" grep -q "lost 0" out
run record --no-argv -q -o n.trace -- echo secret-word
ok "--no-argv keeps arguments out" sh -c '! grep -q secret-word n.trace'
run record -o p.trace -- env HUNTER_PASSWORD=first-word sh -c 'true --user=me; sleep 0 & exec true https://me:second-word@host/'
ok "passwords among arguments are not recorded" sh -c '! grep -aqE "first-word|second-word" p.trace'
ok "they are counted" grep -q "masked 3 arguments that look like secrets; --keep-secrets keeps them" err
run report -i p.trace
ok "by the report too" grep -q "masked 3 arguments" out
run trace -e execve -i p.trace
ok "and what is left of them is shown" grep -qF '"https://me:***@host/"]' out
run record --keep-secrets -o p.trace -- true https://me:first-word@host/
ok "--keep-secrets masks nothing" sh -c '! grep -q masked err'
# the file may be compressed
run trace -e execve -i p.trace
ok "and records them" grep -qF '"https://me:first-word@host/"]' out

# Processes of the same number in two pid namespaces: weir's own is meant, by selection and by parent.
if unshare -pf --mount-proc true 2>/dev/null; then
	unshare -pf --mount-proc --kill-child sh -c '(while cd /usr; do :; done) & wait' &
	other=$!
	unshare -pf --mount-proc --kill-child sh -c '(while cd /etc; do :; done) & exec "$1" record -q -p 2 --size 32KiB -o ns.trace' sh "$weir" \
		>out 2>err </dev/null
	status=$?
	unshare -pf --mount-proc --kill-child sh -c '(while cd /etc; do :; done) & exec "$1" record -q -a --size 32KiB -o ns_all.trace' sh "$weir" \
		>>out 2>>err </dev/null
	status=$((status + $?))
	kill -KILL $other # unshare ignores others
	wait $other 2>/dev/null
	ok "a process of a pid namespace" is 0
	run query 'op == chdir | by pid, ppid, path | count()' ns.trace --csv
	ok "is that of weir's own" [ "$(sed 's/,[0-9]*$//' out | tail -n +2)" = '2,1,/etc' ]
	run query 'op == chdir | by pid, path | count()' ns_all.trace --csv
	ok "-a in a namespace takes those of that namespace alone" [ "$(sed 's/,[0-9]*$//' out | tail -n +2)" = '2,/etc' ]
else
	n=$((n + 1))
	echo "ok $n - a process of a pid namespace # SKIP the root folder is no mount point (a chroot)"
fi
unshare -pf --kill-child "$weir" record -- true >out 2>err </dev/null
status=$?
ok "another namespace's /proc" says 1 "unshare --mount-proc"

run record -- weir-no-such-command
ok "no such command" says 1 "no such command"
run record -- /etc/passwd
ok "not executable" says 1 "not executable"
run record -- /tmp
ok "a folder" says 1 "is a folder"
run record
ok "nothing to record" says 2 "nothing to record"
run record --losless -- true
ok "a misspelt option" says 2 "did you mean --lossless"
run record -p 999999999
ok "no such process" says 1 "no process"
run record -p x
ok "no pid" is 2
run record -e opennat -- true
ok "a misspelt call" grep -q "openat" err
run record -o /dev/null -- true
ok "no plain file" is 2
ok "/dev/null is still there" [ -c /dev/null ]
run record -o /no/such/folder/t -- true
ok "no such folder" says 1 "No such file"
run record -u weir-nobody -- true
ok "no such user" is 2
run record -a -p 1
ok "-a and -p" is 2
cp "$weir" /tmp/weir-test-$$ && chmod 755 /tmp/weir-test-$$
setpriv --reuid 65534 --regid 65534 --clear-groups sh -c "cd /tmp && /tmp/weir-test-$$ record -o /tmp/weir-test-$$.trace -- true" >out 2>err
status=$?
rm -f /tmp/weir-test-$$
ok "not root" says 1 "root"

run stat -- ls /
ok "stat" grep -q "^openat" err
run stat --json -o s.json -- ls /
ok "stat --json" python3 -c 'import json; d = json.load(open("s.json")); assert d["rows"] and d["loss"]["events"] == 0'
run stat --every 10ms -- true
ok "stat --every, more often than calls are fetched" says 2 "at least 20ms"
run stat -a --every 0.2s --duration 0.5s --by process
ok "stat --every" [ "$(grep -c PROCESSES out)" -ge 2 ]
# A file size limit is a full disk too, and leaves room for no block of calls here.
(ulimit -f 140; exec "$weir" record -q -o small.trace -- find /usr/lib -maxdepth 2) >out 2>err
status=$?
ok "a trace without room for a call" is 1
run report small.trace
ok "what to do about it" grep -q "^NEXT   every call was lost: free space" out
for command in trace stat; do
	run $command -o /dev/full -- true
	ok "$command -o: a full disk" says 1 "-o /dev/full: No space left on device"
done
"$weir" stat -- true 2>/dev/full
status=$?
ok "a table that nobody sees is a failure" is 1
run stat --by nonsense -- true
ok "stat --by nonsense" is 2
run top -a
ok "top without a terminal" says 1 "stat --every"
run doctor
ok "doctor" grep -q "1,000 of 1,000 test calls" out
ok "doctor's status" is 0
mkdir doctor
TMPDIR=$dir/doctor "$weir" doctor >out 2>err </dev/null &
doctor=$!
for _ in $(seq 600); do [ -n "$(ls doctor)" ] && break; kill -0 $doctor 2>/dev/null || break; sleep 0.1; done
kill -TERM $doctor
wait $doctor
ok "doctor that is ended leaves nothing behind" [ -z "$(ls doctor)" ]
run doctor --json
ok "doctor --json" python3 -c 'import json; assert json.load(open("out"))["rows"]'
finish
