#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir trace on a command: its calls appear with names and results, the command keeps its output and exit status, a
# call that does not return is said after a second.
set -u
weir=$(realpath "$1")
if [ "$(id -u)" != 0 ]; then
	echo "skipped: needs root"
	exit 77
fi
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

check() {
	[ "$2" = "$3" ] && return
	echo "$1: got '$2', wanted '$3'"
	failed=1
}

# has WHAT EXPRESSION: some line fits
has() {
	grep -q -- "$2" lines && return
	echo "$1: no line fits $2"
	failed=1
}

name=$(printf 'x\033[31m')
"$weir" trace -o lines -- sh -c 'echo said; cat nonexistent 2>/dev/null; echo 12345 >"$0"; cat "$0" >/dev/null; exit 7' "$name" \
	>out 2>err
check "exit status" $? 7
check "output" "$(cat out)" "said"
check "standard error" "$(cat err)" ""
has "exec" 'execve("[^"]*/sh\|dash\|bash", \["sh", "-c", '
has "failed open" 'openat(AT_FDCWD<'"$dir"'>, "nonexistent", O_RDONLY) *= -1 ENOENT (No such file or directory) <'
has "open, escaped" 'openat(AT_FDCWD.*, "[^"]*x\\33\[31m", O_WRONLY|O_CREAT|O_TRUNC, 0666) *= [0-9]*<'"$dir"'/x\\33\[31m> <'
has "write" 'write(1<'"$dir"'/x\\33\[31m>, \.\.\., 6) *= 6 <'
has "exit" 'exit_group(7) *= ? '
has "end of the process" '+++ exited with 7 +++'
check "no escape sequences" "$(tr -d '\n\40-\176' <lines | wc -c)" 0

"$weir" trace -o lines -e %file -Z -- cat nonexistent 2>/dev/null
check "-Z: exit status of the command" $? 1
check "-Z, -e" "$(grep -v '+++\|^[0-9:.]* [a-z0-9_]*(.* = -1 E' lines)" ""
has "-Z" '"nonexistent"'

"$weir" trace -o lines -e getdents64 -- ls / >/dev/null
has "the root folder, which has no name to lose" "getdents64([0-9]*</>, "

"$weir" trace -o lines -e nanosleep,clock_nanosleep -- sleep 1.8
has "a call that goes on" '\.\.\. still in clock_nanosleep(CLOCK_REALTIME, 0, .* [0-9]*\.[0-9] s'
has "its end" 'clock_nanosleep(.*) = 0 <\(1\.[89]\|[2-9]\.\|[0-9][0-9]\)'

# those of threads that ended take no room from later ones
"$weir" trace -o lines -e nanosleep,clock_nanosleep -- python3 -ISBc 'import os
for _ in range(4300):
	p = os.fork() or os._exit(0)
	os.waitpid(p, 0)
os.execv("/bin/sh", ["sh", "-c", "sleep 1.8; :"])' >out 2>err
has "a call that goes on after 4,300 processes have ended" '\.\.\. still in clock_nanosleep(CLOCK_REALTIME, 0, '

"$weir" trace -c -o lines -- cat /dev/null
has "-c" 'execve$'
has "-c" 'total$'

# every call of a program, as many as strace sees
if command -v strace >/dev/null && strace -qq -o s.txt true 2>/dev/null; then
	strace -qq -f -o s.txt -e trace=all sh -c 'ls /; ls /nonexistent' >/dev/null 2>&1
	"$weir" trace -o lines -- sh -c 'ls /; ls /nonexistent' >/dev/null 2>&1
	sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' s.txt | grep -v unfinished | sort | uniq -c >theirs
	sed -n 's/^[0-9:.]* \(\[pid[^]]*\] \)\{0,1\}\([a-z0-9_]*\)(.*/\2/p' lines | sort | uniq -c >ours
	check "the same calls as under strace" "$(diff theirs ours)" ""
fi

# Folders beside descriptors, of calls that succeeded too, and what a symbolic link says: as under strace -y.
walk='mkdir -p a/b/c; ln -s /no/such l; ln -s ../up a/l; : >a/b/f; rm -r a; rm l'
if strace -qq -y -o s.txt true 2>/dev/null; then
	strace -qq -f -y -o s.txt -e trace=openat,unlinkat,symlinkat sh -c "$walk"
	"$weir" trace -o lines -e openat,unlinkat,symlinkat -- sh -c "$walk"
	# what is there with a folder's descriptor: up to the path
	sed -n 's/^[0-9]* *\([a-z]*at([0-9]*<[^>]*>, "[^"]*"\).*/\1/p; s/^[0-9]* *symlinkat("\([^"]*\)".*/link \1/p' s.txt >theirs
	sed -n 's/^[0-9:.]* \(\[pid[^]]*\] \)\{0,1\}\([a-z]*at([0-9]*<[^>]*>, "[^"]*"\).*/\2/p; s/.* symlinkat("\([^"]*\)".*/link \1/p' lines >ours
	check "folders and links as under strace" "$(diff theirs ours)" ""
	check "there are some" "$(grep -c "^openat([0-9]*<$dir/a[^>]*>, \"\|^link" ours | sed 's/^[3-9]$/some/')" some
fi
"$weir" trace -o lines --where 'path2 ~ "../*"' -- sh -c 'ln -s ../up l; ln -s /up m; rm l m'
check "what a link says is path2" "$(sed -n 's/^[0-9:.]* \(\[pid[^]]*\] \)\{0,1\}\(.*\) *= 0 <.*/\2/p' lines | grep -v '^ln\|execve' | sed 's/ *$//')" "symlinkat(\"../up\", AT_FDCWD<$dir>, \"l\")"

# of the whole host the ends of those processes that had a line
"$weir" trace -a -P "$dir/only" --duration 2 >lines 2>err &
while kill -0 $! 2>/dev/null; do
	sh -c ': >only'
	cat /dev/null
	sleep 0.05
done
check "-a: ends of other processes" "$(sed 's/^[^[]*\[pid *//' lines | awk -F'[]<]' '/\+\+\+/ { if (!seen[$1]) print $1; next } { seen[$1] = 1 }')" ""

# of a stored trace the signals of a thread from before its first call that is shown; of a thread without one none
"$weir" record -q --with details -o s.trace -- python3 -c 'import os, signal, time
signal.signal(signal.SIGUSR1, lambda *_: None)
os.kill(os.getpid(), signal.SIGUSR1)
if not os.fork():
	time.sleep(0.5)
	os.mkdir("other")
	os._exit(0)
os.wait()
time.sleep(0.5)
os.mkdir("made")'
"$weir" trace -i s.trace --where 'op in (mkdir, mkdirat)' >lines
check "signals before the first call shown" "$(sed -n 's/.*\(--- SIGUSR1\|mkdir\).*/\1/p' lines | tr '\n' ' ')" "--- SIGUSR1 mkdir mkdir "
check "signals of threads that are not shown" "$("$weir" trace -i s.trace --where 'op == fchmod' | grep -c SIGUSR1)" 0

# a file for each thread
rm -f lines*
"$weir" trace -ff -o lines -- sh -c 'cat /dev/null; cat /dev/null; exit 3' >out 2>err
check "-ff: exit status" $? 3
check "-ff: nothing on standard error" "$(cat err)" ""
check "-ff: files" "$(ls lines.* | wc -l) $(ls lines 2>/dev/null)" "3 "
check "-ff: each ends with its process" "$(tail -qn 1 lines.* | grep -c '+++ exited with [03] +++$')" 3
check "-ff: programs" "$(grep -l 'execve(.*= 0 <' lines.* | wc -l)" 3
check "-ff: no thread on the lines" "$(cat lines.* | grep -c '\[pid')" 0
"$weir" trace -ff -o nonexistent/lines -- true 2>err
check "-ff: a folder that is not there" "$?: $(cat err)" "1: weir: -o nonexistent/lines.$(sed -n 's/.*lines\.\([0-9]*\).*/\1/p' err): No such file or directory"
exit $failed
