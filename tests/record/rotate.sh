#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recording that goes on in one file after another: nothing is lost between them, each can be read alone, together they are one
# trace, and the oldest go. Lossless where that is looked at: a ring that is full on a busy machine is no loss between files. Needs root.
#   rotate.sh WEIR COUNTED [SECONDS]     ten files are written each second; `make nightly` writes a hundred
set -u
weir=$(realpath "$1") counted=$(realpath "$2") seconds=${3:-4}
. "$(dirname "$0")/../common/tap.sh"
mkdir area
query() { "$weir" query --csv -i "$1" "$2" 2>err | tail -n 1; }
calls() { query "$1" "where op == $2 | count()"; }
numbers() { ls "$1".* 2>/dev/null | sed 's/.*\.//' | sort -n | tr '\n' ' '; }

# ---- what is refused ----
run record --rotate 10 -- true
ok "a file that is too small" says 2 "rotate: '10' is too small: at least 64KiB"
run record --rotate 1ms -- true
ok "a time that is too short" says 2 "rotate: '1ms' is too short: at least 100ms"
run record --rotate often -- true
ok "what is neither" says 2 "rotate: 'often' is neither a size nor a time"
run record --keep 3 -- true
ok "files to keep of one" says 2 "keep needs --rotate"
run record --rotate 1m --keep 0 -- true
ok "no file to keep" says 2 "keep"
ok "and nothing was written" [ -z "$(ls | grep -v -e area -e out -e err)" ]
echo precious >weir.trace.4
run record --rotate 1m -- true
ok "a file that is no trace is in the way" says 2 "weir.trace.4: exists and is not a trace"
ok "and is left alone" [ "$(cat weir.trace.4)" = precious ]
rm weir.trace.4

run record -o f.trace --rotate 1m -- true
ok "one file" [ "$(numbers f.trace)" = "1 " ]

# ---- many files under load ----
"$weir" record --lossless -o f.trace --rotate 100ms -- "$counted" $seconds area >counts 2>err </dev/null
ok "recorded" [ $? = 0 ]
ok "nothing was lost, and the numbers prove it" grep -q "lost 0 (sequence gap-free)" err
ok "the files are told" grep -q "in $(ls f.trace.* | grep -vc old) files, f.trace.1 to" err
files=$(ls f.trace.* | grep -vc old)
ok "many files: $files" [ "$files" -ge $((seconds * 5)) ]
ok "the one before was moved" [ "$(numbers f.trace.old)" = "1 " ]
reads=$(sed -n 's/pread64 //p' counts) made=$(sed -n 's/files //p' counts)
pid=$(query f.trace "where path ~ '**/area/idle' && op == write | select tid | head 1")
own="tid == $pid"
ok "every read is there, once" [ "$(query f.trace "where op == pread64 && $own && path ~ '**/area/data' | count()")" = "$reads" ]
ok "every file that came and went" [ "$(calls f.trace unlink)" = "$made" ]
ok "and their names" [ "$(query f.trace "where op == openat && path ~ '**/area/file*' | by path | count() | count()")" = "$made" ]
ok "one process of them all" [ "$("$weir" query --csv -i f.trace "where $own | by process | count()" | wc -l)" = 2 ]
ok "a file that was used at both ends is one" [ "$(query f.trace "where op == write && path ~ '**/area/idle' | count()")" = 2 ]
ok "a call that lasted as long as all files" [ "$(query f.trace "where op == read && dur > $((seconds - 1))s | count()")" = 1 ]
"$weir" report -i f.trace >out 2>err
ok "the report: no gap" grep -q "lost 0 (sequence gap-free)" out
ok "of one command" grep -q "counted $seconds area" out
ok "every call has its file" grep -q "files without a path 0" out
run check f.trace
ok "every file is intact" [ "$status" = 0 ]
ok "all were looked at" [ "$(grep -c intact out)" = "$files" ]
# On a busy machine the program may get no CPU for 100 ms: such a file has no call of it, and nothing to name.
sum=0 alone=0 bare=0 busy=0
for i in f.trace.[0-9]*; do
	read -r reads_of bare_of who <<<"$("$weir" query --csv -i $i "where op == pread64 | by path, comm, pid | count()" 2>err |
		awk -F, 'NR > 1 { reads += $4; bare += $1 == "" ? $4 : 0; who = $2 "," $3 } END { print reads + 0, bare + 0, who }')"
	sum=$((sum + reads_of)) bare=$((bare + bare_of)) busy=$((busy + (reads_of > 0)))
	[ "$who" = "counted,$pid" ] && alone=$((alone + 1))
done
ok "the files' reads add up" [ "$sum" -ge "$reads" ]
ok "each with reads names its process by itself ($alone of $busy)" [ "$alone" -ge $((busy > 4 ? busy - 2 : busy)) ]
ok "and its files" [ "$bare" = 0 ]
mkdir folder && cp f.trace.[0-9]* folder
ok "a folder of them is the same trace" [ "$(query folder "where op == pread64 && $own && path ~ '**/area/data' | count()")" = "$reads" ]
ok "and one process" [ "$("$weir" query --csv -i folder "where $own | by process | count()" | wc -l)" = 2 ]
rm folder/f.trace.$((files / 2))
run report -i folder
ok "a file that is missing between others is told" grep -q "1 file missing before" out err

# ---- the oldest go ----
"$weir" record --lossless -o g.trace --rotate 100ms --keep 3 -- "$counted" 1 area >counts 2>err </dev/null
ok "three files are kept" [ "$(ls g.trace.* | wc -l)" = 3 ]
ok "the others are told" grep -q "older ones were removed (--keep)" err
"$weir" report -i g.trace >out 2>err
ok "what is left is whole" grep -q "lost 0 (sequence gap-free)" out
ok "its command is known" grep -q "counted 1 area" out
ok "every call has its file" grep -q "files without a path 0" out
# a number of calls, not a time: on a busy machine a second may be few
run record -q -o h.trace --rotate 64KiB -- dd if=/dev/zero of=/dev/null bs=1 count=100000
ok "by size" [ "$status" = 0 ]
ok "several files" [ "$(ls h.trace.* | wc -l)" -ge 2 ]
ok "of about that size" [ "$(ls -l h.trace.* | awk '$5 > 500000' | wc -l)" = 0 ]

# ---- while it is recorded, and a recorder that is killed ----
"$weir" record -q -o k.trace --rotate 100ms -- "$counted" 20 area >counts 2>err </dev/null &
recorder=$!
until [ -e k.trace.5 ] || ! kill -0 $recorder; do sleep 0.02; done
who=$(query k.trace "where op == pread64 | by comm, pid | count()" | cut -d, -f1,2)
ok "it is one trace while it grows" [ "${who%,*}" = counted ]
until [ -e k.trace.10 ] || ! kill -0 $recorder; do sleep 0.02; done
kill -9 $recorder
wait $recorder 2>/dev/null
kill "${who#*,}" # which its recorder does not take with it
run check k.trace
ok "only the last file has no end" [ "$(grep -vc intact out)" -le 4 ]
"$weir" report -i k.trace >out 2>err
ok "what was committed is there" grep -q "pread64" out
ok "and that the recorder was killed" grep -qi "not closed" out err
finish
