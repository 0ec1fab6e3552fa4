#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every case of the workload runs by itself, without any recorder: run_alone.sh WORKLOAD
set -u
workload=$1
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
failed=0 ran=0 skipped=0
for name in $("$workload" --list | awk '{ print $1 }'); do
	mkdir "$folder/$name"
	case $name in
	never) continue ;;
	attached) : >"$folder/$name/go" ;;
	load_*) set -- env WORK_CALLS=700 WORK_SECONDS=1 ;;
	*) set -- ;;
	esac
	"$@" "$workload" "$name" "$folder/$name" >"$folder/facts" 2>"$folder/errors"
	status=$?
	if [ $status = 77 ]; then
		skipped=$((skipped + 1))
		echo "$name: $(cat "$folder/errors")"
	elif [ $status != 0 ] || [ ! -s "$folder/facts" ]; then
		failed=$((failed + 1))
		echo "$name: status $status: $(cat "$folder/errors")"
	fi
	ran=$((ran + 1))
done
echo "$ran cases, $failed failed, $skipped skipped"
[ $failed = 0 ]
