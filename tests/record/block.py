#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""block.py WEIR [NAME...]: requests to block devices against the kernel's statistics of the disk, and their owners and files
against what the programs did. Needs root, loop devices, fio and the mkfs of each file system."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
import disks  # noqa: E402
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
only = sys.argv[2:]
tap = Tap()
MIB = 1 << 20
IMAGE = 400 * MIB
MKFS = {
    'ext4': ['mkfs.ext4', '-q', '-E', 'lazy_itable_init=0,lazy_journal_init=0'],
    'xfs': ['mkfs.xfs', '-q'],
    'btrfs': ['mkfs.btrfs', '-q'],
}
# Bytes of each file that is read by direct I/O: what the device gave for it.
DIRECT_READS = {'psync': 2 * MIB, 'libaio': 3 * MIB, 'io_uring': 4 * MIB}
MIX = r"""
set -e
cat /sys/block/$DISK/stat >"$OUT/before"
fio --output=/dev/null --size=4M --name=buffered --rw=write --bs=64k --end_fsync=1 --name=random --rw=randwrite --bs=4k \
    --name=direct --rw=write --bs=256k --direct=1 --name=aio --rw=randwrite --bs=8k --direct=1 --ioengine=libaio --iodepth=16 \
    --name=uring --rw=randwrite --bs=8k --direct=1 --ioengine=io_uring --iodepth=16 \
    --name=mapped --rw=randrw --bs=4k --size=2M --ioengine=mmap
fio --output=/dev/null --rw=read --direct=1 --bs=64k --iodepth=8 --name=psync --ioengine=psync --size=2M \
    --name=libaio --ioengine=libaio --size=3M --name=io_uring --ioengine=io_uring --size=4M
rm buffered.0.0
sync -f .
sleep 0.2
cat /sys/block/$DISK/stat >"$OUT/after"
"""


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, **more)


def must(*args, **more):
    r = run(*args, **more)
    if r.returncode:
        sys.exit(f'{" ".join(args)}: {r.stderr}{r.stdout}')
    return r.stdout.strip()


class Disk:
    """A file system on a loop device, with overlayfs over it where that is asked for."""

    def __init__(self, folder, name, direct=False):
        self.image = os.path.join(folder, name + '.img')
        self.root = self.path = os.path.join(folder, name)
        self.over = None
        os.mkdir(self.root)
        with open(self.image, 'wb') as f:
            f.truncate(IMAGE)
        base = 'ext4' if name == 'overlay' else name
        if base in MKFS:
            must(*MKFS[base], self.image)
        self.loop = must('losetup', '-f', '--show', *(['--direct-io=on'] if direct else []), self.image)
        self.disk = os.path.basename(self.loop)
        self.mounted = base in MKFS
        if self.mounted:
            must('mount', self.loop, self.root)
        if name == 'overlay':
            for part in 'lower', 'upper', 'work', 'merged':
                os.mkdir(os.path.join(self.root, part))
            self.over = self.path = os.path.join(self.root, 'merged')
            options = ','.join(f'{k}dir={self.root}/{k}' for k in ('lower', 'upper', 'work'))
            must('mount', '-t', 'overlay', 'overlay', '-o', options, self.over)

    def close(self):
        if self.over:
            disks.unmount(self.over)
        if self.mounted:
            disks.unmount(self.root)
        run('losetup', '-d', self.loop)
        os.unlink(self.image)


def record(trace, *args, **more):
    r = run(weir, 'record', '-q', '--with', 'block', '-o', trace, *args, **more)
    if r.returncode or 'does not show' in r.stderr:
        sys.exit(f'record: {r.stderr}')


def sql(trace, text):
    return json.loads(must(weir, 'sql', '-i', trace, '--json', text))['rows']


def stat_of(path):
    with open(path, encoding='ascii') as f:
        v = [int(x) for x in f.read().split()]
    return {'read': v[0:3], 'write': v[4:7], 'discard': v[11:14], 'flush': [v[15], 0, 0]}


def parts_are_whole(name, trace):
    """Of all disks, in whatever state recording found their requests"""
    rows = sql(trace, 'SELECT b.request, b.disk, b.dur, b.bytes, p.s FROM block b LEFT JOIN (SELECT request, sum(bytes) s, '
                      'sum(requests) n, sum(merges) m FROM block_part GROUP BY 1) p USING (request) '
                      'WHERE p.s IS NULL OR p.s != b.bytes OR p.n != 1 OR p.m != b.merges')
    tap.none(f'{name}: parts are the whole', [str(r) for r in rows])


def same_as_stat(name, folder, trace, disk):
    """Requests, merges and sectors by kind."""
    before, after = stat_of(folder + '/before'), stat_of(folder + '/after')
    rows = sql(trace, 'SELECT kind, count(*) n, sum(merges)::bigint m, (sum(bytes) / 512)::bigint s FROM block '
                      f"WHERE disk = '{disk}' AND uncounted IS NULL GROUP BY kind")
    got = {r['kind']: [r['n'], r['m'], r['s']] for r in rows}
    want = {k: [b - a for a, b in zip(before[k], after[k])] for k in before}
    tap.none(f'{name}: rows are what the disk counts', [f'{k}: stat {want[k]}, rows {got.get(k)}' for k in want
                                                        if got.get(k, [0, 0, 0]) != want[k]])
    parts_are_whole(name, trace)
    rows = sql(trace, 'SELECT request FROM block WHERE q2g IS NOT NULL AND issued IS NOT NULL '
                      'AND dur != q2g + coalesce(g2i, 0) + i2d + d2c')
    tap.none(f'{name}: phases add up', [f'request {r["request"]}' for r in rows])


def share_unknown(trace, disk):
    r = sql(trace, "SELECT sum(bytes) FILTER (via = 'unknown')::bigint nobody, sum(bytes)::bigint bytes FROM block_part "
                   f"WHERE disk = '{disk}'")[0]
    return (r['nobody'] or 0) / r['bytes']


def mix(folder, fs):
    """Every way to do I/O: sums, and the bytes of each file that was read directly."""
    disk = Disk(folder, fs)
    trace = f'{folder}/{fs}.weir'
    try:
        for name, size in DIRECT_READS.items():
            with open(f'{disk.path}/{name}.0.0', 'wb') as f:
                f.write(os.urandom(size))
        must('sync', '-f', disk.path)
        # fio's buffers are filled first: into memory that is not there yet btrfs reads only a part directly, and the rest once more
        record(trace, '--', 'sh', '-c', MIX, cwd=disk.path, env=dict(os.environ, DISK=disk.disk, OUT=folder, MALLOC_PERTURB_='85'))
    finally:
        disk.close()
    same_as_stat(fs, folder, trace, disk.disk)
    unknown = share_unknown(trace, disk.disk)
    tap.check(f'{fs}: owners are known', unknown <= 0.01, f'{unknown:.2%} of bytes have none')
    rows = sql(trace, "SELECT path, sum(bytes)::bigint b FROM block_part JOIN file ON file.id = file_id "
                      f"WHERE disk = '{disk.disk}' AND kind = 'read' AND origin = 'file' GROUP BY 1")
    got = {os.path.basename(r['path']): r['b'] for r in rows}
    tap.none(f'{fs}: direct reads by file', [f'{n}: {s} bytes, rows say {got.get(n + ".0.0")}'
                                             for n, s in DIRECT_READS.items() if got.get(n + '.0.0') != s])
    lost = [r['path'] for r in rows if not r['path'].startswith(disk.path)]
    tap.none(f'{fs}: files have the paths that programs use', lost)


def owners(folder):
    """3,000 direct reads, beside a process that is not recorded."""
    disk = Disk(folder, 'ext4')
    trace = f'{folder}/owners.weir'
    try:
        for name in 'mine', 'others':
            must('dd', 'if=/dev/urandom', f'of={disk.path}/{name}', 'bs=1M', 'count=12', 'conv=fsync')
        # until it is ended, as recording begins after it; not much longer where this test is killed
        with subprocess.Popen(['timeout', '60', 'sh', '-c', f'while :; do dd if={disk.path}/others of=/dev/null bs=4k iflag=direct 2>/dev/null; done'],
                              start_new_session=True) as other:
            try:
                record(trace, '--', 'dd', f'if={disk.path}/mine', 'of=/dev/null', 'bs=4k', 'count=3000', 'iflag=direct', 'status=none')
            finally:
                os.killpg(other.pid, 9)
    finally:
        disk.close()
    rows = sql(trace, "SELECT comm, unrecorded, path, via, count(*) n, sum((op_start IS NOT NULL)::int)::bigint calls FROM block b "
                      "JOIN thread ON thread.id = thread_id JOIN file ON file.id = b.file_id "
                      f"WHERE disk = '{disk.disk}' AND kind = 'read' GROUP BY ALL")
    mine = [r for r in rows if r['path'].endswith('/mine')]
    tap.check('3,000 of 3,000 direct reads have their owner and call', len(mine) == 1 and mine[0]['n'] == 3000 and
              mine[0]['calls'] == 3000 and mine[0]['unrecorded'] is None and mine[0]['via'] == 'current', rows)
    other = [r for r in rows if r['path'].endswith('/others')]
    tap.check('who is not recorded is named', other and all(r['unrecorded'] == 1 and r['comm'] == 'dd' for r in other), rows)
    wrong = sql(trace, "SELECT count(*) n FROM block b JOIN op ON op.thread_id = op_thread_id AND op.start = op_start "
                       "WHERE b.pos != op.pos OR b.start < op.start OR b.start + b.dur > op.start + op.dur")
    tap.check('each request lies in its call, at its position', wrong[0]['n'] == 0, wrong)


WRITE = "import os, sys\nfd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\nfor at in range(*map(int, sys.argv[2:5])):\n" \
        "    os.pwrite(fd, b'x' * 4096, at * 4096)\n"


def written(trace, disk):
    """Bytes written of each (file, process)."""
    rows = sql(trace, "SELECT path, process.pid, sum(bytes)::bigint b FROM block_part JOIN thread ON thread.id = thread_id "
                      "JOIN process ON process.id = thread.process_id JOIN file ON file.id = file_id "
                      f"WHERE disk = '{disk}' AND kind = 'write' AND origin = 'file' GROUP BY 1, 2")
    return {(os.path.basename(r['path']), r['pid']): r['b'] for r in rows}


GROUPS = r"""
for name in a b; do
	mkdir -p $GROUP/weir-test-$name
	(echo 0 >$GROUP/weir-test-$name/cgroup.procs && exec $PYTHON -c "$WRITE" $name 0 4096 1) &
done
wait
sync
"""


def groups(folder, fs):
    """Two control groups write at once to a file each, and a third program writes both back."""
    group = next((g for g in ('/sys/fs/cgroup/pids', '/sys/fs/cgroup') if os.path.exists(g + '/cgroup.procs')), None)
    if not group:
        tap.skip(f'{fs}: two control groups', 'no control groups')
        return
    disk = Disk(folder, fs)
    trace = f'{folder}/groups.weir'
    try:
        record(trace, '--', 'sh', '-c', GROUPS, cwd=disk.path,
               env=dict(os.environ, GROUP=group, PYTHON=sys.executable, WRITE=WRITE))
    finally:
        disk.close()
        for name in 'a', 'b':
            if os.path.isdir(f'{group}/weir-test-{name}'):
                os.rmdir(f'{group}/weir-test-{name}')
    rows = sql(trace, "SELECT file.path, cgroup.path AS g, sum(bytes)::bigint b FROM block_part JOIN thread ON thread.id = thread_id "
                      "JOIN cgroup ON cgroup.id = thread.cgroup_id JOIN file ON file.id = file_id "
                      f"WHERE disk = '{disk.disk}' AND kind = 'write' AND origin = 'file' GROUP BY ALL")
    got = {(os.path.basename(r['path']), os.path.basename(r['g'])): r['b'] for r in rows}
    size = 4096 * 4096
    right = all(got.get((n, f'weir-test-{n}'), 0) >= 0.99 * size for n in 'ab')
    tap.check(f'{fs}: two control groups own what they wrote', right, got)


SHARED = r"""
$PYTHON -c "$WRITE" shared 0 1024 1 & a=$!
wait
$PYTHON -c "$WRITE" shared 0 1024 2 & b=$!
wait
echo $a $b >$OUT/pids
sync -f .
"""


def shared(folder, fs):
    """Two processes write pages of one file in turn: the second is not seen when a folio turns dirty."""
    disk = Disk(folder, fs)
    trace = f'{folder}/shared.weir'
    try:
        record(trace, '--', 'sh', '-c', SHARED, cwd=disk.path,
               env=dict(os.environ, OUT=folder, PYTHON=sys.executable, WRITE=WRITE))
    finally:
        disk.close()
    with open(folder + '/pids', encoding='ascii') as f:
        a, b = (int(x) for x in f.read().split())
    got = written(trace, disk.disk)
    want = {('shared', a): 512 * 4096, ('shared', b): 512 * 4096}
    if fs == 'btrfs':  # whose calls that write are not seen: all of it is the first writer's, and marked so
        want = {('shared', a): 1024 * 4096}
        rows = sql(trace, "SELECT DISTINCT via FROM block_part JOIN file ON file.id = file_id WHERE path LIKE '%shared'")
        tap.check(f'{fs}: that others may have written is said', [r['via'] for r in rows] == ['first_writer'], rows)
    tap.check(f'{fs}: two writers of one file share it by page', got == want, a, b, got)


def stacked(folder):
    """A loop device in a file of a file system on another one: who reads from the upper one owns the requests to the lower."""
    lower = Disk(folder, 'ext4')
    trace = f'{folder}/stacked.weir'
    try:
        upper = Disk(lower.path, 'raw', direct=True)
        try:
            must('dd', 'if=/dev/urandom', f'of={upper.loop}', 'bs=1M', 'count=4', 'oflag=direct')
            must('sync', '-f', lower.path)
            record(trace, '--', 'dd', f'if={upper.loop}', 'of=/dev/null', 'bs=64k', 'count=64', 'iflag=direct', 'status=none')
        finally:
            upper.close()
    finally:
        lower.close()
    rows = sql(trace, "SELECT l.via, comm, path, count(*) n, sum(l.bytes)::bigint b, sum((u.request IS NULL)::int)::bigint alone "
                      "FROM block l LEFT JOIN block u ON u.request = l.upper "
                      f"AND u.disk = '{upper.disk}' JOIN thread ON thread.id = l.thread_id JOIN file ON file.id = l.file_id "
                      f"WHERE l.disk = '{lower.disk}' AND l.kind = 'read' AND l.origin = 'file' GROUP BY ALL")
    right = len(rows) == 1 and rows[0]['comm'] == 'dd' and rows[0]['via'] == 'upper' and rows[0]['alone'] == 0 and \
        rows[0]['b'] == 64 * 65536 and rows[0]['path'] == upper.image
    tap.check('requests below a loop device are those of its user', right, rows)
    rows = sql(trace, f"SELECT path, sum(bytes)::bigint b FROM block_part JOIN file ON file.id = file_id WHERE disk = '{upper.disk}' "
                      "AND kind = 'read' AND origin = 'device' GROUP BY 1")
    tap.check('a device that is read as a file has its name', [(r['path'], r['b']) for r in rows] == [(upper.loop, 64 * 65536)], rows)


UNFINISHED = r"""
fsfreeze -f $LOWER
dd if=/dev/zero of=$DEVICE bs=64k count=1 oflag=direct >/dev/null 2>&1 &
sleep 0.3
"""


def unfinished(folder):
    """A write to a loop device whose file belongs to a frozen file system: in flight until recording has ended."""
    lower = Disk(folder, 'ext4')
    trace = f'{folder}/unfinished.weir'
    try:
        upper = Disk(lower.path, 'raw')
        try:
            record(trace, '--', 'sh', '-c', UNFINISHED, env=dict(os.environ, LOWER=lower.path, DEVICE=upper.loop), timeout=60)
        finally:
            run('fsfreeze', '-u', lower.path)
            upper.close()
    finally:
        lower.close()
    rows = sql(trace, f"SELECT dur, bytes, owners, comm FROM block JOIN thread ON thread.id = thread_id WHERE disk = '{upper.disk}' AND kind = 'write'")
    tap.check('a request in flight at the end has an owner, and no bytes yet', rows == [{'dur': None, 'bytes': 0, 'owners': 1, 'comm': 'dd'}], rows)
    parts_are_whole('in flight', trace)


def main():
    for need in 'fio', 'losetup', 'mount':
        if not shutil.which(need):
            print(f'1..0 # SKIP {need} is missing')
            return 0
    disks.alone()
    tests = {}
    for fs in 'ext4', 'xfs', 'btrfs', 'overlay':
        tests[fs] = (fs, lambda folder, fs=fs: mix(folder, fs))
    tests |= {'owners': ('ext4', owners), 'stacked': ('ext4', stacked), 'unfinished': ('ext4', unfinished)}
    for fs in 'ext4', 'xfs', 'btrfs':
        tests[f'groups-{fs}'] = (fs, lambda folder, fs=fs: groups(folder, fs))
        tests[f'shared-{fs}'] = (fs, lambda folder, fs=fs: shared(folder, fs))
    for name, (fs, test) in tests.items():
        if only and name not in only:
            continue
        tool = MKFS['ext4' if fs == 'overlay' else fs][0]
        if not shutil.which(tool):
            tap.skip(name, f'{tool} is missing')
            continue
        with tempfile.TemporaryDirectory(prefix='weir-block-') as folder:
            test(folder)
    return tap.end()


if __name__ == '__main__':
    sys.exit(main())
