#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One filter, the same calls: tested by the kernel while recording, over everything that was recorded, and by the engine where its
# library is there. Several recordings look at one run, each within the one before: the outermost takes every call, each of the
# others those of one filter. Needs root.
#   where.sh WEIR WORKLOAD
# WEIR_CASES: the workload's cases under random filters; WEIR_SEED: theirs.
set -u
weir=$(realpath "$1") workload=$(realpath "$2")
. "$(dirname "$0")/../common/tap.sh"
"$weir" record -q -o one -- true
engine=
"$weir" sql -i one 'select 1' >/dev/null 2>&1 && engine=1

# The calls of the workload alone, as both recordings must have them: without times, in any order. A name that a recorder
# knows of a file stands there in full, else as it was given: which of them knew it in time is not the question here.
lines() { # lines TRACE [FILTER]
	"$weir" trace -i "$1" --where 'exe ~ "**/workload"' ${2:+--where "$2"} -o /dev/stdout 2>&1 |
		sed -E 's/^[0-9:.]+ (\[pid[^]]*\] )?//; s/ <[0-9.]+>$//; s/ +=/ =/; s|'"$dir"'/w/||g; /^\+\+\+/d' | sort
}

within=() # what starts the workload
several() { # several CASE FILTER...: one recorder for each filter; CASE may be several, one after the other
	local case=$1 i status calls asked=()
	local -a work=("$workload" "$1" w)
	[ "$1" = "${1% *}" ] || work=(sh -c 'for case in $1; do "$0" $case w; rm -rf w; mkdir w; done' "$workload" "$1")
	shift
	local -a filters=("$@") run=("$weir" record -q -o all --)
	local countif=
	for i in "${!filters[@]}"; do
		run+=("$weir" record -o "some$i" --where "${filters[i]}" --)
		countif+=${countif:+, }"countif(${filters[i]}) as n$i"
	done
	mkdir w
	"${run[@]}" "${within[@]}" "${work[@]}" >/dev/null 2>err
	status=0
	[ "$(grep -c 'lost 0 (sequence gap-free)' err)" = ${#filters[@]} ] || { status=1; sed 's/^/# /' err; }
	result $status "$case: nothing is lost with ${#filters[@]} filters"
	[ ! "$engine" ] || IFS=, read -r -a asked <<<"$("$weir" query "exe ~ \"**/workload\" | $countif" -i all --csv | tail -n 1)"
	for i in "${!filters[@]}"; do
		status=0
		lines all "${filters[i]}" >want
		lines "some$i" >got
		calls=$(wc -l <want)
		diff want got >difference || { status=1; head -n 20 difference | sed 's/^/# /'; }
		[ "${may_be_empty:-}" ] || [ -s want ] || { status=1; echo "# no call passes"; }
		[ ! "$engine" ] || [ "${asked[i]:-}" = "$calls" ] || { status=1; echo "# the engine has ${asked[i]:-none} calls"; }
		result $status "$case: ${filters[i]} ($calls calls)"
	done
	rm -rf w all some*
}

several plain 'ret > 3' 'err is not null' 'err == ENOENT or op == close' 'op in (openat, read, pread64, write) and ret != 0' \
	'not (op == read or fd >= 4)' 'size > 100 && bytes > 0' 'size is null or size between 10 and 4096'
several plain 'bytes in (1, 2, 3, 4, 5, 6, 7, 8, 100, 4096, 8192)' 'fd in 3..5 && !(ret < 0)' 'uid == 0 && pid > 1 && tid > 1 && cpu >= 0' \
	'pid == tid and ret >= 0' 'path ~ "**/w/**" and ret > 0' 'ret > 3 and (path ~ "*a*" or bytes > 10 or class == meta)'
several plain 'pos >= 0 and size > 1' 'flags has O_CREAT or fd == 2' 'class == meta' 'comm == "workload" and ret > 0 and inner_pid > 0' \
	'class in (data, sync) and ret >= 0 or class == process' 'path !=~ "w/.*a" and class != meta'
several 'open meta_fail threads family' 'fd > 3 || ret < 0' 'err in (ENOENT, EEXIST, ENOTDIR) or op == rename' 'op != futex and ret >= 0' \
	'ret > 0 or op == execve'
may_be_empty=1
several 'plain change' 'dur < 0ns' 'uid != 0 or ret < 0'
several 'vectored between udp4 scm_rights' 'size > 100 && bytes > 0' 'size is null or bytes == 0' 'fd >= 4 and ret > 0' 'pos > 0'

# Numbers of files, second files, raw arguments, programs. What the recorder knows of a file that a call names by its path
# hangs on what it has seen of it, so these ask of descriptors.
dev=$(($(stat -c %Hd .) << 20 | $(stat -c %Ld .)))
self=$(stat -L -c %i "$workload")
several delete "dev == $dev and fd >= 0" "dev != $dev and fd >= 0" 'ino > 0 and op == write' 'ino is not null and fd > 2' \
	"ino == $self or ino in (1, 2, 3) and fd >= 0" 'dev between 1 and 9223372036854775807 and fd >= 0 and err is null'
several data_fail 'dev is null and fd >= 0' 'ino is null and fd >= 0 or ino >= 9223372036854775808' 'not (dev > 0) and fd > 2' \
	'path is null and fd >= 0' 'fd2 is null and a2 is null' 'a1 == 18446744073709551615 or a0 in (0, 1, 18446744073709551615)'
several between 'class == wait or class == net' 'fd2 > 3' 'fd2 is not null and pos2 > 40' 'pos2 is null and ret > 0' 'path2 ~ "**/w/out"' \
	'path2 is null and fd2 is not null' 'path2 is not null' 'not (path2 ~ "*n")' 'fd2 == 77 or pos2 in (100, 10, 5000)'
several descriptors 'fd2 is not null' 'fd2 == -1 or fd2 > 1000' 'path2 is null and fd >= 0' 'a1 is not null' 'bitand(a1, 3) == 2' \
	'a2 > 9223372036854775807 or a1 between 1 and 3' 'not (a1 == 0)' 'path2 == "/dev/null" or pos2 is not null'
several family 'base(exe) == "workload"' 'exe !~ "/usr/**"' 'exe is null' "exe == \"$workload\" and ret > 0" 'exe =~ "work.*d"' \
	'dir(exe) == "/usr/bin" or exe is not null and ret < 0'
several open 'a2 is null and fd2 is null' 'a4 is null and a3 is not null' "dev == $dev and fd >= 0" 'path2 is null and fd > 3'

# Peers, of calls on what is connected: a stored trace knows the peer of a socket before it was connected.
moves='op in (read, write, writev, sendto, recvfrom, sendmsg, recvmsg, sendmmsg, recvmmsg, getpeername, shutdown)'
several tcp4 "$moves and peer ~ \"127.*\"" "$moves and peer !~ \"127.0.0.1:*\"" "$moves and peer ~ \"*:443\"" \
	"$moves and peer == \"127.0.0.1:443\"" "$moves and not (peer ~ \"*:80\")" "$moves and peer is null" \
	"op in (connect, accept4, bind) and peer ~ \"127.0.0.*\"" "$moves and peer in (\"[::1]:5\", \"unix:/x\", \"127.0.0.1:1\")"
several tcp6 "$moves and peer ~ \"1.*\" or $moves and peer != \"[::1]:80\"" "$moves and peer is not null" "$moves and peer !~ \"*:443\"" \
	'op == connect and peer != "[::1]:80"'
takes="op in (recvfrom, recvmsg, recvmmsg)"
several udp4 "$moves and peer ~ \"127.0.0.1:*\"" "$moves and peer !~ \"10.*\"" "op in (sendto, sendmmsg) and peer != \"127.0.0.1:53\"" \
	"$takes and bytes == 0" "$takes and bytes between 1 and 20" "$takes and bytes > 500"
several signals 'err is null and fd >= 0' 'err is not null'
several unix "$moves and peer ~ \"*:443\"" "$moves and peer is null and ret > 0" "op in (connect, bind, sendto) and peer != \"unix:@x\"" \
	"$moves and peer != \"unix:/x\"" "op in (connect, bind) and peer =~ \"unix:\"" 'op == sendto and peer == "unix:@abstract"' \
	'op in (connect, bind) and peer == "unix:./sock"' "$moves and peer in (\"unix:./sock\", \"unix:/x\")"
several plain 'peer is null and fd > 2' 'peer is not null' 'peer != "10.0.0.1:80"'

# A name that one file has after the other. What leads there is known by the calls that changed it, wanted or not: a row says
# the file that it was then, or none.
"$weir" record -q -o all -- "$weir" record -q -o some0 -e openat,statx -- \
	"$weir" record -q -o some1 --where 'op in (openat, statx) and ret >= 0' -- \
	"$weir" record -q -o some2 --slower 1ns --where 'fd is not null or op == statx' -- sh -c '
	see() { stat -c %i cfg; }
	echo 1 >cfg; echo 2 >tmp; see; mv tmp cfg; see; : <cfg; see; rm cfg; mkdir cfg; see; : <cfg; see
	rmdir cfg; echo 3 >cfg; see; mkdir d; echo 4 >d/cfg; mv d e; mkdir d; mv cfg d; cd d; see' >truth 2>err
for i in all some0 some1 some2; do
	"$weir" query 'where op == statx and comm == "stat" and base(path) == "cfg" | select ino' -i $i --csv | tail -n +2 >got
	known=$(paste -d " " truth got | awk '$2 && $1 != $2 { wrong = 1 } $2 { known++ } END { print wrong ? "wrong" : known + 0 }')
	[ "$(wc -l <truth) $(wc -l <got)" = "7 7" ] && [ "$known" != wrong ] && [ "$known" -ge 4 ]
	status=$?
	[ $status = 0 ] || paste truth got | sed 's/^/# /'
	"$weir" report $i | grep -q 'lost 0 (sequence gap-free)' || { status=1; echo "# not gap-free"; }
	result $status "a name that one file has after the other, $i ($known known)"
done
rm -rf all some* cfg d e

# Control groups: a new one that the program joins, and leaves again for one of which weir has heard.
groups=/sys/fs/cgroup
[ ! -d $groups/pids ] || groups=$groups/pids
if mkdir $groups/weir-where-$$ 2>/dev/null; then
	within=(sh -c "echo 0 >$groups/weir-where-$$/cgroup.procs && \"\$@\"; status=\$?
		echo 0 >$groups/cgroup.procs; \"\$@\" && exit \$status" sh)
	several plain "cgroup == \"/weir-where-$$\" and ret > 0" 'cgroup !~ "/weir-where-*"' 'cgroup =~ "weir-w.*[0-9]$" or unit is not null' \
		'cgroup is null or container is not null' 'not (cgroup ~ "/weir-where-*" and container is null)'
	within=()
	rmdir $groups/weir-where-$$
fi

# Random filters.
seed=${WEIR_SEED:-1}
RANDOM=$seed
echo "# seed $seed"
tests=(
	'path ~ "**/w/**"' "path ~ \"$dir/w/**\"" "path ~ \"$dir/w/*\"" "path ~ \"$dir/w\"" "path ~ \"$dir/w/d*\""
	'path ~ "*a*"' 'path ~ "f*"' 'path ~ "*a"' 'base(path) == "data"' 'ext(path) == "so"' "dir(path) == \"$dir/w\""
	'path ~ "/usr/**"' "path like \"$dir/%\"" 'path == "/"' "path != \"$dir/w\"" 'path =~ "w/.*a"' 'path is null'
	'comm == "workload"' 'comm != "workload"' 'comm ~ "work*"' 'comm ~ "w*d"' 'comm like "wo%"' 'comm ~ "x*"'
	'comm in ("workload", "cat")' 'pos == 0' 'pos > 10' 'pos is null' 'pos in 1..4096' 'flags has O_CREAT'
	'flags has O_RDWR' 'flags == 0' 'flags is null' 'flags has (O_CREAT, O_TRUNC)' 'class == data' 'class in (meta, sync)'
	'op ~ "p*64"' 'op in (read, write, openat, close, fsync, lseek)' 'op == openat' 'fd == 3' 'fd is null' 'size > 5'
	'size is null' 'bytes > 0' 'ret > 3' 'err is not null' 'a0 > 3' 'exe ~ "**/workload"' 'a1 == 0' 'a2 is null'
	'bitand(a1, 1) == 1' 'a3 > 9223372036854775808' 'fd2 is null' 'fd2 > 3' 'pos2 >= 0' 'pos2 is null' 'path2 is not null'
	'path2 ~ "**/w/**"' 'path2 != "/"' "(dev == $dev and fd >= 0)" "(dev != $dev and fd >= 0)" '(ino > 1000 and fd >= 0)'
	'(ino is null and fd >= 0)' "exe == \"$workload\"" 'exe !~ "/usr/**"' 'base(exe) ~ "work*"' 'exe is null'
	"($moves and peer ~ \"127.*:*\")" "($moves and peer !~ \"10.*\")" "($moves and peer is null)"
	'cgroup is not null' 'cgroup ~ "/**"' 'unit is null' 'container != "x"')

draw() { # draw DEPTH: into $drawn
	local left not
	if [ "$1" = 0 ] || [ $((RANDOM % 4)) = 0 ]; then
		drawn=${tests[RANDOM % ${#tests[@]}]}
		return
	fi
	not=$([ $((RANDOM % 3)) = 0 ] && echo 'not ')
	draw $(($1 - 1))
	left=$drawn
	draw $(($1 - 1))
	[ $((RANDOM % 2)) = 0 ] && drawn="$not($left and $drawn)" || drawn="$not($left or $drawn)"
}

many() { # many CASE
	local i
	local -a filters=()
	for i in 1 2 3 4 5 6 7 8; do
		draw $((RANDOM % 4))
		filters[i]=$drawn
	done
	several "$1" "${filters[@]}"
}

for case in ${WEIR_CASES:-open udp4}; do
	many $case
done

# What was left out is counted, and nothing of it is lost.
mkdir w
"$weir" record -o some --where 'ret > 3' -- "$workload" plain w >/dev/null 2>err
grep -q 'left out [0-9,.]* *k\? *calls' err && grep -q 'lost 0 (sequence gap-free)' err
result $? 'what was left out is counted'
"$weir" record -q -o some --where 'dur >= 20us' -- "$workload" plain w >/dev/null 2>err
[ "$("$weir" trace -i some --where 'dur < 20us or dur is null' | grep -vc '^+++')" = 0 ]
result $? 'durations'

# Another call has the number of one that was left out, but not the thread that woke that one.
mkdir -p w
"$weir" record -q -o some --where 'op != futex or ret > 9' -- "$workload" wakers w >/dev/null 2>&1
[ "$("$weir" query 'op == nanosleep | count(), count(waker_id)' -i some --csv | tail -n 1)" = 1,0 ]
result $? 'nobody wakes a call that sleeps'

# A call that slept on one descriptor alone is a call on its file, for the recorder too.
mkfifo fifo
"$weir" record -q -o all -- "$weir" record -q -o some -P "$dir/fifo" -- bash -c 'read -t 0.02 <>fifo; sleep 0.02; read -t 0.02 <>/dev/zero'
waits() { # waits OPTION...
	"$weir" trace -o /dev/stdout --comm bash -e openat,%wait "$@" | sed -E 's/^[0-9:.]+ //; s/ <[0-9.]+>$//' | grep -v '^+++'
}
waits -i all -P "$dir/fifo" >want
waits -i some >got
diff want got && grep -q select want
result $? 'waits for a file that was chosen'

# Errors name the place; --explain needs no target.
"$weir" record --where 'dur >' -- true 2>err
[ $? = 2 ] && grep -q 'character' err && [ "$(wc -l <err)" = 1 ]
result $? 'an error names the place'
"$weir" stat --explain --where 'dur > 1ms and path ~ "x*" and peer ~ "10.*"' >out &&
	grep -qx 'kernel, when it has ended:  dur > 1ms && base(path) ~ "x\*"' out && grep -q '^then in weir: .*peer ~ ' out
result $? '--explain says what goes where'
finish
