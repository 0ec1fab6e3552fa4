#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""machine.py --weir W --workload L --dump D [CASE...]: what is tested on Debian 12's own kernel, in one start of a virtual machine:
weir itself (guest), the workload's cases against the facts that they print (cases.sh), a disk that is slower than another (slow.sh), and
one that loses power (power.sh).
CASE: only these of the workload. WEIR_VM=all: with what takes long. Speaks TAP."""
import argparse
import base64
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import power

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'oracles'))
import compare  # noqa: E402

MKFS, DMSETUP = (shutil.which(name, path=os.environ.get('PATH', '') + ':/usr/sbin:/sbin') for name in ('mkfs.ext4', 'dmsetup'))
DISK_TOOLS = [shutil.which(name, path='/usr/bin:/usr/sbin:/sbin') for name in ('blktrace', 'blkparse', 'mdadm', 'mkfs.ext4')]
LOST_POWER = '1s', 'off'  # --sync


def make_image(path):
    """An empty file system, packed."""
    with open(path, 'wb') as f:
        f.truncate(64 << 20)
    subprocess.run([MKFS, '-q', '-F', path], check=True, capture_output=True)
    with open(path, 'rb') as plain, gzip.open(path + '.gz', 'wb', 1) as packed:
        shutil.copyfileobj(plain, packed)
    return path + '.gz'


def boot(options, image, names):
    """Runs everything; what the machine printed."""
    words = [os.path.join(HERE, 'vm'), '-m', '2048', '-t', '1700']
    for module in 'crc32c_generic', 'ext4', 'overlay', 'loop', 'dm-flakey', 'dm-delay', 'raid1':
        words += ['-M', module]
    if os.environ.get('WEIR_VM') == 'all':
        words += ['-M', 'nvme', '-n', image.removesuffix('.gz')]
    for file in (options.weir, options.workload, 'setcap', 'setpriv=/x/setpriv', *filter(None, [DMSETUP, *DISK_TOOLS]), 'dd=/x/dd',
                 image + '=/image.gz',
                 *(os.path.join(HERE, name) + '=/' + name for name in ('guest', 'cases.sh', 'power.sh', 'slow.sh'))):
        words += ['-f', file]
    script = f'sh /guest {os.environ.get("WEIR_VM", "")}; sh /cases.sh {" ".join(names)}'
    if DMSETUP:
        script += f'; sh /slow.sh send; sh /power.sh {" ".join(LOST_POWER)}'
    return subprocess.run([*words, '--', 'sh', '-c', script], capture_output=True, text=True, errors='replace', check=False)


def guest(runner, said):
    """The guest's own TAP, numbered with the rest."""
    lines = re.findall(r'^(?:# .*|(?:not )?ok .*|1\.\.\d+)$', said, re.M)
    reasons = []
    for line in lines:
        if m := re.match(r'(not )?ok \d+ - (.*)', line):
            runner.result(m[2], [(m[2], reasons)] if m[1] else [])
        reasons = reasons + [line] if line.startswith('#') else []
    if not any(re.match(r'1\.\.[1-9]', line) for line in lines):
        runner.result('the first commands', [('they did not end', said.splitlines()[-5:])])


def workload(runner, said, names):
    packed = re.search(r'BEGIN-OUT\s(.*?)END-OUT', said, re.S)
    if not packed:
        return runner.result('the cases of the workload', [('they did not end', said.splitlines()[-64:])])
    out = os.path.join(runner.root, 'vm')
    os.mkdir(out)
    subprocess.run(['tar', 'xz', '-C', out], input=base64.b64decode(packed[1]), check=True)
    runner.grouped_cases(out, names)


def slow_disk(runner, options, said):
    """weir diagnose finds the disk that dm-delay makes slow, and whose requests waited for it."""
    packed = re.search(r'BEGIN-SLOW\s(.*?)END-SLOW(.*)', said, re.S)
    trace = os.path.join(runner.root, 'slow')
    with open(trace, 'wb') as f:
        f.write(gzip.decompress(base64.b64decode(packed[1])) if packed else b'')
    r = subprocess.run([options.weir, 'diagnose', '--json', '--only', 'slow-disk', '-i', trace], capture_output=True, text=True, check=False)
    rows = json.loads(r.stdout)['rows'] if r.returncode == 0 else []
    good = sum(row['calls'] for row in rows) == 100 and all(row['process'] == 'dd' and 'disk dm-1 takes ' in row['sentence'] for row in rows)
    runner.result('a disk that dm-delay makes slow', [] if good else [(f'{rows} {r.stderr}', packed[2].splitlines()[:3] if packed else [])])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in 'weir', 'workload', 'dump':
        parser.add_argument('--' + name, required=True, type=os.path.realpath)
    parser.add_argument('cases', nargs='*')
    options = parser.parse_args()
    if not MKFS:
        print('1..0 # SKIP mkfs.ext4 is missing (apt install e2fsprogs)')
        return 0
    runner = compare.Runner(argparse.Namespace(**vars(options), keep=False, large=False, limit=12, what='vm', dir='/var/tmp'))
    try:
        names = [n for n in runner.cases(options.cases) if n != 'never']
        done = boot(options, make_image(os.path.join(runner.root, 'image')), names)
        if done.returncode == 77:
            print('1..0 # SKIP ' + done.stderr.strip())
            return 0
        said = done.stdout
        if done.returncode:
            runner.result('the virtual machine', [(f'status {done.returncode}', done.stderr.splitlines()[-30:])])
        guest(runner, said.partition('BEGIN-OUT')[0])
        workload(runner, said, names)
        if DMSETUP:
            slow_disk(runner, options, said)
        else:
            runner.skip('a disk that dm-delay makes slow', 'no dmsetup (apt install dmsetup)')
        for sync in LOST_POWER:
            if not DMSETUP:
                runner.skip(f'a power failure with --sync {sync}', 'no dmsetup (apt install dmsetup)')
                continue
            problem = power.problem_of(options, runner.root, sync, said)
            runner.result(f'a power failure with --sync {sync}', [(problem, [])] if problem else [])
    finally:
        runner.close()
    return runner.end()


if __name__ == '__main__':
    sys.exit(main())
