#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# weir trace -i: every row is a line, selections take what they say, mistakes are one line and the right exit status.
set -u
weir=$(realpath "$1")
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0

# check WHAT GOT WANTED
check() {
	[ "$2" = "$3" ] && return
	echo "$1: got '$2', wanted '$3'"
	failed=1
}

"$weir" synth -o t.trace --rows 5000 --seed 7 2>/dev/null || exit 1
"$weir" trace -i t.trace >all 2>err || failed=1
check "a line per row" "$(wc -l <all)" 5000
check "nothing on standard error" "$(cat err)" ""
check "each is one line of a call" "$(grep -c '^[0-9:.?]* *\[pid *[0-9]*<.*>\] [a-z0-9_]*(.*) *= .*$' all)" 5000
check "no control bytes" "$(LC_ALL=C tr -d '\n\40-\176\200-\377' <all | wc -c)" 0

"$weir" trace -i t.trace -e read,write >some
check "-e" "$(wc -l <some)" "$(grep -c '\] \(read\|write\)(' all)"
"$weir" trace -i t.trace -e '!read,write' >others
check "-e with !" "$(($(wc -l <some) + $(wc -l <others)))" 5000
"$weir" trace -i t.trace -Z >failed_calls
check "-Z" "$(wc -l <failed_calls)" "$(grep -c ' = -1 E' all)"
"$weir" trace -i t.trace -P '/tmp/rocksdb/**/*.sst' -e pread64 >sst
check "-P" "$(wc -l <sst)" "$(grep -c 'pread64([0-9]*</tmp/rocksdb/[0-9]*.sst>' all)"
tid=$(sed -n '1s/.*pid *\([0-9]*\)<.*/\1/p' all)
"$weir" trace -i t.trace -t "$tid" >tid
check "-t" "$(wc -l <tid)" "$(grep -c "\[pid *$tid<" all)"
"$weir" trace -i t.trace --from +5ms >late
"$weir" trace -i t.trace --to +5ms >early
check "--from and --to" "$(($(wc -l <late) + $(wc -l <early)))" 5000
"$weir" trace -i t.trace -P '*.sst' -e pread64 >anywhere
check "-P with a star first" "$(cat anywhere)" "$(cat sst)"
cp t.trace 'a trace'
"$weir" trace 'a trace' >out 2>err
check "a trace in place of a command" "$?: $(cat err)" "2: weir: trace: a trace is a trace, not a command: weir trace -i 'a trace'"

running=$(grep -c 'still running' all)
"$weir" trace -i t.trace -c >sums
check "-c" "$(sed -n '$!d;p' sums | sed 's/still running: //')" "$running"
check "-c: calls" "$(awk '/total$/ { print $4 }' sums)" "$((5000 - running))"
"$weir" trace -i t.trace --rel | awk '$1 + 0 < last - 1 { bad++ } { last = $1 } END { exit bad > 0 }' || failed=1
"$weir" trace -i t.trace -o lines >out
check "-o: nothing on standard output" "$(cat out)" ""
check "-o" "$(wc -l <lines)" 5000
for wrong in '--from soon' '--where clas=data' '-i missing.trace'; do
	"$weir" trace -i t.trace $wrong -o lines >out 2>err && failed=1
	check "-o: $wrong leaves the file as it was" "$(wc -l <lines)" 5000
done
"$weir" trace -i t.trace -ff -o lines >out
check "-ff: a file for each thread" "$(ls lines.* | wc -l)" "$(sed 's/.*\[pid *\([0-9]*\)<.*/\1/' all | sort -u | wc -l)"
check "-ff: all lines" "$(cat lines.* | wc -l)" 5000
check "-ff: those of the thread" "$(cat "lines.$tid")" "$(sed 's/\[pid[^]]*\] //' tid)"
rm -f lines.*
cp t.trace u.trace
"$weir" trace -i t.trace u.trace >two
check "two traces" "$(wc -l <two)" 10000

"$weir" synth -q -o db1.trace --rows 5000 --seed 7 --host db1
"$weir" trace -i t.trace -i db1.trace >two
check "two machines" "$(grep -c '\[pid *[0-9]*<synth:.*>\] ' two) $(grep -c '\[pid *[0-9]*<db1:.*>\] ' two)" "5000 5000"
"$weir" trace -i t.trace -i db1.trace -ff -o lines
check "-ff: two machines with the same thread" "$(grep -c '<db1:' "lines.$tid")" "$(grep -c '<synth:' "lines.$tid")"
check "-ff: all lines of two machines" "$(cat lines.* | grep -c '\[pid *[0-9]*<\(synth\|db1\):')" 10000
rm -f lines.*

# mistake STATUS ARGUMENTS...: one line on standard error
mistake() {
	want=$1
	shift
	"$weir" trace "$@" >out 2>err
	check "trace $*: exit status" $? "$want"
	check "trace $*: lines of complaint" "$(wc -l <err)" 1
}
mistake 1 -i nonexistent
echo nonsense >text
mistake 1 -i text
mistake 2 -i t.trace -e opennat
mistake 2 -i t.trace -e inject=read:error=EIO
mistake 2 -i t.trace -P ''
mistake 2 -i t.trace --from never
mistake 2 -i t.trace -a
mistake 2 -i t.trace -u root
mistake 2 -i t.trace --lossless
mistake 2 -i t.trace -r --rel
mistake 2 -i t.trace -ff -c -o lines
mistake 2 --from +1s -- true
mistake 2
mistake 1 -i t.trace -o nonexistent/file
if [ -e /dev/full ]; then
	"$weir" trace -i t.trace >/dev/full 2>err
	check "full disk: exit status" $? 1
	check "full disk: lines of complaint" "$(wc -l <err)" 1
	for how in "" -c; do
		"$weir" trace $how -i t.trace -o /dev/full 2>err
		check "full disk, -o $how: exit status" $? 1
		check "full disk, -o $how" "$(cat err)" "weir: -o /dev/full: No space left on device"
	done
fi
exit $failed
