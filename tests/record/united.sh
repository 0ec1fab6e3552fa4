#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two recordings of one running process, read together: one process, one thread, one file; recorded on another boot: two.
#   united.sh WEIR REHOST
set -u
weir=$(realpath "$1") rehost=$(realpath "$2")
. "$(dirname "$0")/../common/tap.sh"
sh -c 'while :; do read -r line <data; sleep 0.01; done' &
target=$!
trap 'kill $target; rm -rf "$dir"' EXIT
echo text >data
rows() { # rows NUMBER TRACE TRACE QUERY
	"$weir" query --csv -i "$2" -i "$3" "$4" >out 2>err && [ "$(tail -n +2 out | wc -l)" = "$1" ]
}
count() { # count NUMBER TRACE TRACE STATEMENT
	"$weir" sql --csv -i "$2" -i "$3" "$4" >out 2>err && [ "$(tail -n 1 out)" = "$1" ]
}

for i in a b; do
	"$weir" record -q -p $target -o $i.trace --duration 0.5s >out 2>err </dev/null
done
"$rehost" a.trace c.trace 00000000-0000-0000-0000-000000000001 || exit 1
opened="where op == openat && path == '$dir/data'"
for order in "a.trace b.trace" "b.trace a.trace"; do
	set -- $order
	ok "one shell, $order" rows 1 "$1" "$2" "where pid == $target | by process | count()"
	ok "one thread, $order" rows 1 "$1" "$2" "where tid == $target | by thread | count()"
	ok "one file, $order" rows 1 "$1" "$2" "$opened | by file | count()"
	ok "one row of the process, $order" count 1 "$1" "$2" "SELECT count(*) FROM process WHERE pid = $target"
	ok "calls join with it, $order" count 2 "$1" "$2" \
		"SELECT count(DISTINCT o.thread_id) FROM op_named o JOIN process p ON p.pid = o.pid JOIN thread t ON t.id = o.thread_id AND t.process_id = p.id WHERE p.pid = $target"
	ok "threads join with it, $order" count 2 "$1" "$2" \
		"SELECT count(*) FROM thread t JOIN process p ON p.id = t.process_id WHERE t.tid = $target"
	ok "one generation of the file, $order" count 1 "$1" "$2" \
		"SELECT count(DISTINCT inode) FROM file WHERE path = '$dir/data'"
	ok "one machine, $order" count 1 "$1" "$2" "SELECT count(*) FROM host"
done
ok "the clock was compared at both ends" count t a.trace a.trace \
	"SELECT CASE WHEN end_at > clock_at AND abs(end_offset - clock_offset) < 1000000000 THEN 't' END FROM host"
"$weir" report processes -i a.trace -i b.trace >out 2>err
ok "one line of the report" [ "$(grep -c "\b$target\b" out)" = 1 ]
ok "two boots: two shells" rows 2 b.trace c.trace "where pid == $target | by process | count()"
ok "two threads" rows 2 b.trace c.trace "where tid == $target | by thread | count()"
ok "two files" rows 2 b.trace c.trace "$opened | by file | count()"
ok "two machines" count 2 b.trace c.trace "SELECT count(*) FROM host"
finish
