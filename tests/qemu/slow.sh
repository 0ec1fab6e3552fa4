#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# slow.sh make|read|send: inside the virtual machine: two disks, of which one takes 20 ms more for each request (dm-delay); a program
# that reads them in turn; the trace of it, /slow.trace, which is recorded now unless the guest has recorded it with all else.
make() {
	set -- fast linear "" slow delay " 20"
	while [ $# != 0 ]; do
		head -c 1048576 /dev/zero >/dev/shm/$1
		loop=$(losetup -f)
		losetup $loop /dev/shm/$1
		dmsetup --noudevsync --noudevrules create $1 --table "0 2048 $2 $loop 0$3"
		dmsetup mknodes $1
		shift 3
	done
}

case $1 in
make) make ;;
read)
	for i in 1 2; do
		for disk in slow fast; do
			/x/dd if=/dev/mapper/$disk of=/dev/null bs=4k count=50 iflag=direct status=none
		done
	done
	;;
send)
	[ -e /slow.trace ] || { make && weir record -q --with block -o /slow.trace -- sh $0 read; } 2>/slow.errors
	echo "BEGIN-SLOW"
	[ ! -e /slow.trace ] || gzip -c /slow.trace | base64
	echo "END-SLOW"
	cat /slow.errors
	;;
esac
