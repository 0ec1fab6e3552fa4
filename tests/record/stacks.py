#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are the stacks of calls those that the program itself finds?   stacks.py WEIR STACKED STACKED-WITHOUT-FRAME-POINTERS"""
import functools
import glob
import gzip
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
import tap  # noqa: E402

GAP = '[...]'
CUT_DEEP, CUT_TOP = 1, 8
OWN = ('main', 'alpha_call', 'beta_call', 'gamma_call', 'even_call', 'odd_call', 'deep_call', 'thread_main')


class Recording:
    def __init__(self, weir, folder, args, command):
        self.weir, self.path = weir, os.path.join(folder, 'stacks.weir')
        self.out = subprocess.run([weir, 'record', '-q', '-o', self.path, *args, '--', *command], capture_output=True, timeout=60, check=False)

    def ask(self, *args, warnings=True):
        p = subprocess.run([self.weir, *args, '-i', self.path], capture_output=True, timeout=60, check=False)
        return p.stdout.decode() + (p.stderr.decode() if warnings else '')

    def rows(self, query):
        return json.loads(self.ask('query', query, '--json', warnings=False))['rows']

    def truth(self):
        """Position -> the program's own functions, outermost first."""
        lines = (line.split(' ', 1) for line in self.out.stdout.decode().splitlines())
        return {int(pos): names.split(';') for pos, names in lines}

    def reads(self):
        return [r for r in self.rows('op == pread64 && path ~ "*stacked*" | select pos, stack, stack_id, kstack') if r['stack']]


def wrong_pairs(names, truth):
    """Neighbours in the stack that are no neighbours in truth."""
    pairs = set(zip(truth, truth[1:]))
    return [(a, b) for a, b in zip(names, names[1:]) if a in OWN and b in OWN and (a, b) not in pairs]


def compare(t, name, r, whole):
    truth, reads = r.truth(), r.reads()
    bad = [f'no stack: {r.out.stderr.decode()} {len(truth)} {reads}'] if not truth or {x['pos'] for x in reads} != set(truth) else []
    for x in reads:
        names, want = x['stack'].split(';'), truth[x['pos']]
        own = [n for n in names if n in OWN]
        if wrong_pairs(names, want) or names[-2:] != ['gamma_call', 'pread'] or (whole and own != want):
            bad.append(f'{x["pos"]}: {x["stack"]}, program: {";".join(want)}')
    t.none(name, bad)
    return reads


def exports(t, r):
    folded = dict(line.rsplit(' ', 1) for line in r.ask('stacks', '--folded', '--weight', 'calls', warnings=False).splitlines())
    rows = json.loads(r.ask('stacks', '--json', '--weight', 'calls', warnings=False))
    t.check('folded has the sums of the table', {x['stack']: x['calls'] for x in rows['rows']} == {k: int(v) for k, v in folded.items()}, folded, rows)
    sql = r.rows('stack_id is not null | count() as n')[0]['n']
    t.check('the sums are those of the calls', sum(map(int, folded.values())) == sql == rows['with']['calls'], folded, sql)
    by = {x['stack']: x['n'] for x in r.rows('stack_id is not null | by stack | count() as n')}
    t.check('by stack gives the same', by == {k: int(v) for k, v in folded.items()}, by, folded)
    screen = r.ask('stacks', warnings=False)
    t.check('a small share is not shown as nothing', ' <1 %' in screen and ' 0 %' not in screen, screen)
    path = r.path + '.pb.gz'
    said = r.ask('report', 'stacks', '--pprof', path)
    with gzip.open(path) as f:
        t.check('pprof has the same stacks', pprof_calls(f.read()) == {k: int(v) for k, v in folded.items()}, said)


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        value, at = varint(data, at)
        if key & 7 == 2:
            value, at = data[at:at + value], at + value
        yield key >> 3, value


def numbers(data):
    at, out = 0, []
    while at < len(data):
        value, at = varint(data, at)
        out.append(value)
    return out


def pprof_calls(data):
    """Stack -> calls, the third value of each sample."""
    parts = list(fields(data))
    strings = [v.decode() for k, v in parts if k == 6]
    functions = {f[1]: strings[f[2]] for f in (dict(fields(v)) for k, v in parts if k == 5)}
    places = {f[1]: functions[dict(fields(f[4]))[1]] for f in (dict(fields(v)) for k, v in parts if k == 4)}
    samples = (dict(fields(v)) for k, v in parts if k == 2)
    return {';'.join(places[i] for i in reversed(numbers(s[1]))): numbers(s[2])[2] for s in samples}


def cases(t, weir, framed, plain, folder):
    def record(command, *args):
        return Recording(weir, folder, args or ['--stacks=all'], command)

    r = record([framed, 'nested'])
    compare(t, 'with frame pointers the whole stack is right', r, True)
    exports(t, r)
    failed = r.rows('err == ENOENT && path == "/no/such/file" | select stack')
    t.check('the caller of open is known', failed and failed[0]['stack'].endswith('main;open'), failed)
    compare(t, 'without frame pointers nothing is wrong', record([plain, 'nested']), False)
    compare(t, 'threads have their own stacks', record([framed, 'threads']), True)
    compare(t, 'threads without frame pointers have no wrong one', record([plain, 'threads']), False)

    compare(t, 'while another thread changes the mappings', record([framed, 'mapping']), True)

    r = record([framed, 'deep'])
    reads = compare(t, 'of a deep recursion the innermost functions are right', r, False)
    rows = r.rows('from stack')
    deep = [s for s in rows if reads and s['id'] == reads[0]['stack_id']]
    t.check('and it is marked as cut', deep and deep[0]['cut'] & CUT_DEEP and 100 < deep[0]['depth'] < 130, deep)

    r = record([framed, 'sleep'], '--stacks')
    slept = [x for x in r.rows('op == read && dur > 10ms | select stack, kstack') if x['kstack']]
    t.check('a read that waited slept in the pipe', slept and 'pipe_read' in slept[0]['kstack'] and slept[0]['stack'].endswith('read'), slept)
    short = r.rows('dur < 1ms && err is null && stack_id is not null | count() as n')[0]['n']
    t.check('fast calls that went well have no stack by default', short == 0, short)

    r = record(['sh', '-c', 'for i in 1 2 3; do sleep 0.01 & wait; sleep 0.01; done; cat /dev/null nothing'], '--stacks')
    counted = [int(n.replace(',', '')) for n in re.findall(r'([\d,]+) calls? (?:with a|without one)', r.ask('stacks', warnings=False))]
    asked = [r.rows(f'stack_id is {what} and class != wait | count() as n')[0]['n'] for what in ('not null', 'null')]
    waits = r.rows('stack_id is null and class == wait | count() as n')[0]['n']
    t.check('calls that wait for work are counted apart, also those without a stack', counted == asked and waits > 0, counted, asked, waits)

    r = record([framed, 'jit'])
    reads = r.reads()
    if os.uname().machine == 'x86_64':
        t.check('a function in a perf map has its name', reads and 'main;made_at_run_time;gamma_call;pread' in reads[0]['stack'].replace('case_jit;', ''), reads)

    r = record(['sh', '-c', f'for i in $(seq 20); do {framed} nested; done'])
    reads = r.reads()
    t.check('processes that ended have names', len(reads) == 60 and all(x['stack'].endswith('main;alpha_call;beta_call;gamma_call;pread') for x in reads), len(reads), reads[:3])
    t.check('equal stacks of processes are one', len({x['stack_id'] for x in reads}) <= 3, {x['stack_id'] for x in reads})

    r = record(['python3', '-c', 'open("/etc/hostname").read()'])
    rows = r.rows('op == read && path == "/etc/hostname" | select stack')
    t.check('python3 is an ordinary program', rows and all(x['stack'] and x['stack'].endswith(';read') for x in rows), rows)

    r = record([framed, 'nested'], '-q')
    t.check('without --stacks there is none', not r.reads() and 'recorded without stacks' in r.ask('stacks'), r.ask('stacks'))
    bad = subprocess.run([weir, 'record', '--stacks=never', '--', 'true'], capture_output=True, timeout=60, check=False)
    t.check('a wrong word is refused', bad.returncode == 2 and b'never' in bad.stderr, bad)


SOURCE = r"""
#include <fcntl.h>
#include <unistd.h>
static __attribute__((noinline)) int hidden(int fd) { char b; int n = read(fd, &b, 1); return n + 1; } int main(void)
{
	return hidden(open("/etc/passwd", O_RDONLY)) != 2;
}
"""


SCRIPT = """
const fs = require('fs');
function innerRead(fd, b) { return fs.readSync(fd, b, 0, 1, 0); }
function outerLoop() { const fd = fs.openSync('/etc/passwd'), b = Buffer.alloc(1); for (let i = 0; i < 500; i++) innerRead(fd, b); }
outerLoop();
"""


def javascript(t, weir, folder):
    """Functions of Node, which writes a map of them."""
    own = os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', '..', 'out', 'node', 'bin', 'node')
    node = own if os.path.exists(own) else shutil.which('node')
    if not node:
        t.skip("functions of Node's", 'no node')
        return
    script = os.path.join(folder, 'script.js')
    with open(script, 'w', encoding='ascii') as f:
        f.write(SCRIPT)
    r = Recording(weir, folder, ('--stacks=all', '-e', 'pread64', '-P', '/etc/passwd'), [node, '--perf-basic-prof', '--interpreted-frames-native-stack', script])
    rows = r.rows('op == pread64 && path == "/etc/passwd" | by stack | count() as n | sort n desc')
    named = sum(x['n'] for x in rows if re.search(r'outerLoop[^;]*;.*innerRead', x['stack'] or ''))
    t.check("functions of Node's have their names", named >= 400, named, rows[:2], r.out.stderr.decode())
    for name in glob.glob('/tmp/perf-*.map'):
        if os.path.getmtime(name) >= os.path.getmtime(script) and script.encode() in open(name, 'rb').read():
            os.unlink(name)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def lines(t, weir, folder):
    """Names and lines of a stripped program, from a server of debug information."""
    program, source = os.path.join(folder, 'stripped'), os.path.join(folder, 'source.c')
    with open(source, 'w', encoding='ascii') as f:
        f.write(SOURCE)
    subprocess.run(['cc', '-g', '-O1', '-fno-omit-frame-pointer', '-Wl,--build-id', '-o', program, source], check=True)
    notes = subprocess.run(['readelf', '-n', program], capture_output=True, text=True, check=True).stdout
    served = os.path.join(folder, 'served', 'buildid', notes.split('Build ID:')[1].split()[0])
    os.makedirs(served)
    subprocess.run(['objcopy', '--only-keep-debug', program, served + '/debuginfo'], check=True)
    subprocess.run(['strip', program], check=True)
    r = Recording(weir, folder, ('--stacks=all', '-e', 'read'), [program])

    def own(**env):
        os.environ.update(env, DEBUGINFOD_CACHE_PATH=os.path.join(folder, 'cache'))
        folded = r.ask('stacks', '--folded', '--lines', warnings=False).splitlines()
        return [names.split(';')[-3:-1] for names in (line.rsplit(' ', 1)[0] for line in folded) if 'stripped+' in names or 'hidden' in names]
    t.check('a stripped program has places', all('stripped+0x' in n for names in own() for n in names) and own(), own())
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), functools.partial(Quiet, directory=os.path.join(folder, 'served'))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        got = own(DEBUGINFOD_URLS=f'http://127.0.0.1:{server.server_port}')
        server.shutdown()
    want = [[f'main {source}:6', f'hidden {source}:4']]
    if not any(os.path.exists(f'{d}/libdebuginfod.so.1') for d in ('/usr/lib/x86_64-linux-gnu', '/usr/lib/aarch64-linux-gnu', '/usr/lib64')):
        t.skip('lines of a server', 'no libdebuginfod.so.1 (apt install libdebuginfod1)')
    else:
        t.check('its names and lines come from a server', got == want, got, want)


def main():
    t = tap.Tap()
    if os.geteuid() != 0:
        t.skip('stacks', 'needs root')
        return t.end()
    with tempfile.TemporaryDirectory(prefix='weir-stacks.') as folder:
        cases(t, *(os.path.realpath(p) for p in sys.argv[1:4]), folder)
        lines(t, os.path.realpath(sys.argv[1]), folder)
        javascript(t, os.path.realpath(sys.argv[1]), folder)
    return t.end()


if __name__ == '__main__':
    sys.exit(main())
