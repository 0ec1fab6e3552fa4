#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# power.sh SYNC...: inside the virtual machine: records onto a disk whose power fails meanwhile, and sends out what the disk
# then has, for each value of --sync. What the kernel has not written by the moment of the failure is dropped.
sectors=131072
echo 0 >/proc/sys/vm/dirty_writeback_centisecs # nothing is written by chance
mkdir -p /mnt/disk /w
zcat /image.gz >/dev/shm/image
for sync in "$@"; do
	cp /dev/shm/image /dev/shm/disk
	loop=$(losetup -f)
	losetup $loop /dev/shm/disk
	dmsetup --noudevsync --noudevrules create power --table "0 $sectors flakey $loop 0 1000000 0"
	dmsetup mknodes power
	mount -t ext4 -o commit=600 /dev/mapper/power /mnt/disk
	rm -f /w/*
	WORK_SECONDS=300 WORK_PAUSE=50000 weir record -q --sync "$sync" -o /mnt/disk/t -- workload load_count /w >/dev/null 2>/tmp/errors &
	recorder=$!
	committed=
	while [ -z "$committed" ] && kill -0 $recorder; do
		sleep 1
		committed=$(weir check --json --fast /mnt/disk/t 2>/dev/null | sed -n 's/.*"complete_until": "\([0-9]*\).*/\1/p')
	done
	# what was committed by now, as the page cache has it, is older than the guarantee when the power fails
	sleep 6
	dmsetup --noudevsync --noudevrules suspend --nolockfs --noflush power
	dmsetup --noudevsync --noudevrules load power --table "0 $sectors flakey $loop 0 0 1000000 1 drop_writes"
	dmsetup --noudevsync --noudevrules resume power
	kill -9 $recorder
	: >/w/end
	wait
	umount /mnt/disk
	dmsetup --noudevsync --noudevrules remove power
	mount -t ext4 $loop /mnt/disk
	echo "BEGIN $sync $committed"
	cat /tmp/errors
	[ ! -e /mnt/disk/t ] || gzip -c /mnt/disk/t | base64
	echo "END"
	umount /mnt/disk
	losetup -d $loop
done
