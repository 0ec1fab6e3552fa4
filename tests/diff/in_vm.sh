#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# in_vm.sh CASE...: runs inside the virtual machine: each case of the workload under weir; facts and traces go out as text.
ip link set lo up 2>/dev/null
mkdir -p /out /w /mnt/small
mount -t ext4 -o loop /image /mnt/small 2>/dev/null && root=/mnt/small || root=/w
for name in "$@"; do
	mkdir -p "$root/$name"
	if [ "$name" = attached ]; then
		workload attached "$root/$name" >/out/$name.facts &
		pid=$!
		sleep 2
		weir record -q -o /out/$name.trace -p $pid 2>/out/$name.errors &
		recorder=$!
		sleep 4
		: >"$root/$name/go"
		wait $pid
		wait $recorder
		echo $? >/out/$name.status
		continue
	fi
	timeout 100 weir record -q -o /out/$name.trace -- workload "$name" "$root/$name" >/out/$name.facts 2>/out/$name.errors
	echo $? >/out/$name.status
done
echo "BEGIN-OUT"
cd /out && tar cz . | base64
echo "END-OUT"
