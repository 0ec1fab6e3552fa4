#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# slow.sh: inside the virtual machine: records a program that reads two disks in turn, of which one takes 20 ms more for each request
# (dm-delay), and sends out the trace.
set -- fast linear "" slow delay " 20"
while [ $# != 0 ]; do
	head -c 1048576 /dev/zero >/dev/shm/$1
	loop=$(losetup -f)
	losetup $loop /dev/shm/$1
	dmsetup --noudevsync --noudevrules create $1 --table "0 2048 $2 $loop 0$3"
	dmsetup mknodes $1
	shift 3
done
weir record -q --with block -o /slow.trace -- sh -c '
	for i in 1 2; do
		for disk in slow fast; do
			/x/dd if=/dev/mapper/$disk of=/dev/null bs=4k count=50 iflag=direct status=none
		done
	done' 2>/slow.errors
echo "BEGIN-SLOW"
[ ! -e /slow.trace ] || gzip -c /slow.trace | base64
echo "END-SLOW"
cat /slow.errors
