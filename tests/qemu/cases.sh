#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# cases.sh CASE...: runs inside the virtual machine: the workload's cases under weir; facts and traces go out as text.
# One recorder sees them one after the other: to load its programs takes an emulated machine longer than most cases.
# attached needs one of its own.
ip link set lo up 2>/dev/null
mkdir -p /out /w /mnt/small
zcat /image.gz >/image
mount -t ext4 -o loop /image /mnt/small 2>/dev/null && root=/mnt/small || root=/w
together=

# Until a recorder has attached all that it attaches, or is gone.
wait_attached() {
	before=0 same=0
	while [ $same -lt 8 ] && kill -0 "$1" 2>/dev/null; do
		sleep 0.2
		now=$(ls -l "/proc/$1/fd" 2>/dev/null | grep -c bpf_link)
		[ "$now" != 0 ] && [ "$now" = $before ] && same=$((same + 1)) || same=0
		before=$now
	done
}

for name in "$@"; do
	mkdir -p "$root/$name"
	case $name in
	attached)
		workload attached "$root/$name" >/out/$name.facts &
		pid=$!
		until grep -q ready /out/$name.facts; do sleep 0.1; done
		weir record -q -o /out/$name.trace -p $pid 2>/out/$name.errors &
		recorder=$!
		wait_attached $recorder
		: >"$root/$name/go"
		wait $pid
		wait $recorder
		echo $? >/out/$name.status
		;;
	*) together="$together $name" ;;
	esac
done
cat >/each.sh <<'EOF'
for name in $together; do
	sh -c 'echo $$ >/out/$1.pid; exec timeout 100 workload $1 $2/$1' sh $name $root >/out/$name.facts 2>/out/$name.errors
	echo $? >/out/$name.status
done
EOF
export together root
timeout 800 weir record -q --with faults -o /out/together.trace -- sh /each.sh 2>/out/together.errors
echo $? >/out/together.status
echo "BEGIN-OUT"
cd /out && tar cz . | base64
echo "END-OUT"
