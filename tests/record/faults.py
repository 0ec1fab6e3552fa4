#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""faults.py WEIR: page faults of mapped files on several file systems, each mounted anew, against what the program touched and
what the kernel counted, and the content of their pages against what calls read there; how they are selected; what is behind the requests that they and others cause. Needs root and loop devices."""
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
tap = Tap()
PAGE = 4096
PAGES = 600
TOUCHED = 97
MKFS = {'ext4': ['mkfs.ext4', '-q'], 'xfs': ['mkfs.xfs', '-q'], 'btrfs': ['mkfs.btrfs', '-q']}
TOUCH = f"""
import mmap, os, resource, sys
f = os.open(sys.argv[1], os.O_RDONLY)
m = mmap.mmap(f, 0, prot=mmap.PROT_READ)
m.madvise(mmap.MADV_RANDOM)
before = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
for i in range({TOUCHED}):
    m[i * 37 % {PAGES} * {PAGE} + 11]
print(resource.getrusage(resource.RUSAGE_SELF).ru_majflt - before)
"""
READ = f"""
for i in range({PAGES}):
    os.pread(f, {PAGE}, i * {PAGE})
"""


def record(trace, *command, options=('--with', 'faults')):
    return subprocess.run([weir, 'record', '-q', *options, '-o', trace, '--', *command], capture_output=True, text=True, check=True).stdout


def rows(trace, query):
    out = subprocess.run([weir, 'query', '--json', '-i', trace, query], capture_output=True, text=True, check=True).stdout
    return json.loads(out)['rows']


def touched(folder, path, expect=None):
    """Faults of a program that touches a cold file, against the places that it touched."""
    trace = os.path.join(folder, 'touch.trace')
    said = int(record(trace, '/usr/bin/python3', '-S', '-c', TOUCH + READ, path, options=('--with', 'faults', '--content')))
    got = rows(trace, f'kind == fault && path == "{expect or path}" | select pos, bytes, dur, err, flags')
    want = sorted({i * 37 % PAGES * PAGE for i in range(TOUCHED)})
    bad = []
    if len(got) != said:
        bad.append(f'{len(got)} rows, the kernel counted {said}')
    if not set(r['pos'] for r in got) <= set(want) or said < TOUCHED // 2:
        bad.append(f'{said} faults at {sorted(r["pos"] for r in got)[:10]}')
    if any(r['bytes'] != PAGE or r['dur'] is None or r['dur'] <= 0 or r['err'] for r in got):
        bad.append(f'e.g. {got[:3]}')
    chunks = rows(trace, f'from chunk | where file == "{expect or path}" && op in (fault, pread64) | select op, pos, size, hash, outcome')
    of_page = {c['pos']: c['hash'] for c in chunks if c['op'] == 'pread64'}
    mapped = [c for c in chunks if c['op'] == 'fault']
    if len(of_page) != PAGES or len(mapped) != said or any((c['size'], c['hash'], c['outcome']) != (PAGE, of_page[c['pos']], 'handled') for c in mapped):
        bad.append(f'content of {len(mapped)} pages, e.g. {mapped[:3]}, of {len(of_page)} read')
    return trace, bad


def mounted(folder, fs, then):
    """What `then` gives for a file on a file system that was mounted anew."""
    image, target = os.path.join(folder, 'image'), os.path.join(folder, 'mnt')
    os.makedirs(target, exist_ok=True)
    if os.path.exists(image):
        os.unlink(image)  # another inode: mount takes up a loop device that still has this one
    with open(image, 'wb') as f:
        f.truncate(400 << 20)
    subprocess.run([*MKFS[fs], image], check=True, capture_output=True)
    for again in False, True:
        subprocess.run(['mount', '-t', fs, '-o', 'loop', image, target], check=True)
        try:
            if again:
                return then(target)
            with open(os.path.join(target, 'data'), 'wb') as f:
                f.write(os.urandom(PAGES * PAGE))
        finally:
            disks.unmount(target)
    return None


def overlay(folder, target):
    """The same seen through an overlay: by the name that the program knows."""
    with tempfile.TemporaryDirectory(dir=target) as layer, tempfile.TemporaryDirectory(dir=folder) as over:
        os.mkdir(os.path.join(layer, 'upper'))
        os.mkdir(os.path.join(layer, 'work'))
        os.mkdir(os.path.join(layer, 'lower'))
        os.rename(os.path.join(target, 'data'), os.path.join(layer, 'lower', 'data'))
        options = ','.join(f'{name}={layer}/{name.removesuffix("dir")}' for name in ('lowerdir', 'upperdir', 'workdir'))
        subprocess.run(['mount', '-t', 'overlay', '-o', options, 'overlay', over], check=True)
        try:
            return touched(folder, os.path.join(over, 'data'))[1]
        finally:
            disks.unmount(over)


def selections(folder):
    path = os.path.join(folder, 'cold')
    with open(path, 'wb') as f:
        f.write(os.urandom(PAGES * PAGE))
        os.fsync(f.fileno())
    cold = 'import os, sys; os.posix_fadvise(os.open(sys.argv[1], os.O_RDONLY), 0, 0, 4)\n' + TOUCH
    trace = os.path.join(folder, 's.trace')
    found = {}
    for name, options in {'all': [], 'path': ['-P', path], 'slower': ['--slower', '100s'], 'where': ['--where', f'pos >= {300 * PAGE}'],
                          'none': None}.items():
        record(trace, '/usr/bin/python3', '-S', '-c', cold, path, options=[*(['--with', 'faults'] if options is not None else []), *(options or [])])
        found[name] = rows(trace, 'kind == fault | select path, pos')
    here = [r for r in found['all'] if r['path'] == path]
    if not here:
        return tap.skip('selections', 'the file system keeps its pages')
    tap.check('-P takes the faults of a file', {r['path'] for r in found['path']} == {path} and len(found['path']) == len(here), found['path'][:3])
    tap.check('--slower and no --with take none', not found['slower'] and not found['none'], found['slower'][:3], found['none'][:3])
    tap.check('--where takes those of a place', found['where'] and all(r['pos'] >= 300 * PAGE for r in found['where']), found['where'][:3])
    record(trace, '/usr/bin/python3', '-S', '-c', cold, path)
    used = rows(trace, f'from use where path == "{path}" | select reads, read_covered')
    count = rows(trace, f'kind == fault && path == "{path}" | count() as n')[0]['n']
    return tap.check('faults are reads of their file', [u['reads'] for u in used] == [count], used, count)


def causes(target):
    """Who and what is behind requests that no call asked for: read-ahead, and the journal."""
    trace = os.path.join(os.path.dirname(target), 'causes.trace')
    path = os.path.join(target, 'data')
    script = f'cat {path} >/dev/null; mkdir {target}/new && sync -f {target}'
    record(trace, 'sh', '-c', script, options=['--with', 'block'])
    dev = os.stat(target).st_dev
    disk = os.path.basename(os.path.realpath(f'/sys/dev/block/{os.major(dev)}:{os.minor(dev)}'))
    parts = rows(trace, f'from block_part where disk == "{disk}" | select path, comm, via, origin, kind, bytes')
    read = [p for p in parts if p['path'] == path and p['kind'] == 'read']
    bad = []
    if sum(p['bytes'] for p in read) != PAGES * PAGE or {p['comm'] for p in read} != {'cat'}:
        bad.append(f'reads of the file: {read[:5]}')
    journal = [p for p in parts if p['origin'] == 'journal']
    if not journal or any(p['kind'] == 'read' for p in journal):
        bad.append(f'the journal: {[p for p in parts if p["kind"] != "read"][:8]}')
    return bad


def main():
    if os.geteuid() or not os.path.exists('/dev/loop-control'):
        print('1..0 # SKIP needs root and loop devices')
        return 0
    disks.alone()
    folder = tempfile.mkdtemp(prefix='weir-faults.', dir='/var/tmp')
    try:
        for fs, mkfs in MKFS.items():
            if not shutil.which(mkfs[0]):
                tap.skip(fs, f'{mkfs[0]} is missing')
                continue
            tap.none(f'faults of a file on {fs}', mounted(folder, fs, lambda target: touched(folder, os.path.join(target, 'data'))[1]))
        tap.none('faults of a file seen through an overlay', mounted(folder, 'ext4', lambda target: overlay(folder, target)))
        tap.none('read-ahead belongs to the reader, the journal to the file system', mounted(folder, 'ext4', causes))
        selections(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f'1..{tap.count}')
    return tap.failed


if __name__ == '__main__':
    sys.exit(main())
