# SPDX-License-Identifier: Apache-2.0
# What the cases with loop devices share, whose images lie in memory, so that a device is as slow as the case makes it and not slower.
# Source it from prepare and clean: . "$(dirname "$0")/../disks.sh"
PATH=$PATH:/usr/sbin:/sbin
throttle=/sys/fs/cgroup/blkio/blkio.throttle

# skip REASON: this machine cannot run the case
skip() {
	echo "$*"
	exit 77
}

# image NAME MIB: a file in memory
image() {
	mountpoint -q ram || { mkdir -p ram && mount -t tmpfs -o size=256m tmpfs ram; }
	truncate -s "$2M" "ram/$1"
}

# loop_new FILE: a loop device over a file or another device, past the page cache; its name is in $loop
loop_new() {
	loop=$(losetup -f --show --direct-io=on "$1" 2>&1) || skip "no loop device: $loop"
	echo "$loop" >>loops
}

# slow DEVICE WHAT LIMIT: requests of all to the device, WHAT is read_iops, write_iops, read_bps or write_bps. What lies above it is slow.
slow() {
	[ -e "$throttle.$2_device" ] || skip 'no limits of I/O for the root control group (cgroup v1)'
	number=$(cat "/sys/block/${1#/dev/}/dev")
	echo "$number $3" >"$throttle.$2_device"
	echo "$2 $number" >>limits
}

# disks_end: all of that goes again
disks_end() {
	! mountpoint -q mnt || umount mnt
	while read -r what number; do
		echo "$number 0" >"$throttle.${what}_device"
	done 2>/dev/null <limits || :
	tac loops 2>/dev/null | while read -r loop; do
		losetup -d "$loop"
	done
	# devices are given back some time after they are released
	while mountpoint -q ram; do umount ram 2>/dev/null || sleep 0.1; done
}
