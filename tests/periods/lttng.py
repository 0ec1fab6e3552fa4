#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lttng.py WEIR: definitions in LTTng's syntax, matched by `weir periods` and by lttng-analyses (Debian's python3-lttnganalyses), which
reads the same calls as a trace in CTF 1.8 of the form that LTTng's tracer writes. Speaks TAP.

Compared is where lttng-analyses is right. It is not, and weir differs on purpose, where a definition names a child (it cannot be parsed with
today's pyparsing), has a `/` in a text (an error), compares a field that the event lacks by `!=` (true), or matches without an end (dropped)."""
import ast
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import uuid

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'common'))
from tap import Tap  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
ORACLE = 'lttng-periodlog-mi'
ROWS = 5000
LEAST = -(1 << 63)
OPS = ('read', 'write', 'pread64', 'pwrite64', 'openat', 'close', 'accept4', 'recvfrom', 'newfstatat', 'writev')


def document(*args):
    p = subprocess.run([weir, *args], capture_output=True, text=True, check=False, timeout=60)
    if p.returncode:
        raise RuntimeError(f'weir {" ".join(args)}: {p.stderr}')
    return json.loads(p.stdout)


# ---- the trace in CTF 1.8 ----

METADATA = """/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 64; align = 8; signed = true; } := int64_t;
trace { major = 1; minor = 8; uuid = "%(uuid)s"; byte_order = le;
  packet.header := struct { uint32_t magic; uint8_t uuid[16]; uint32_t stream_id; }; };
env { hostname = "test"; domain = "kernel"; sysname = "Linux"; kernel_release = "6.1"; tracer_name = "lttng-modules";
  tracer_major = 2; tracer_minor = 13; tracer_patchlevel = 0; };
clock { name = "monotonic"; freq = 1000000000; offset = 0; };
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := clock_t;
stream { id = 0; event.header := struct { uint16_t id; clock_t timestamp; };
  packet.context := struct { clock_t timestamp_begin; clock_t timestamp_end; uint64_t content_size; uint64_t packet_size;
    uint64_t events_discarded; uint32_t cpu_id; };
  event.context := struct { int64_t _tid; int64_t _pid; string _procname; }; };
"""


def event_class(name):
    """An entry has a descriptor and a size, an exit what the call returned."""
    entry = 'int64_t _fd; int64_t _count;' if name.startswith('syscall_entry') else 'int64_t _ret;'
    return f'struct {{ {entry} }}'


def write_ctf(folder, events):
    """Events are (time, name, tid, pid, procname, numbers), in order."""
    names = sorted({e[1] for e in events})
    ids = {name: i for i, name in enumerate(names)}
    identity = uuid.UUID(int=7)
    os.makedirs(folder)
    with open(os.path.join(folder, 'metadata'), 'w', encoding='ascii') as f:
        f.write(METADATA % {'uuid': identity})
        for name in names:
            f.write(f'event {{ name = "{name}"; id = {ids[name]}; stream_id = 0; fields := {event_class(name)}; }};\n')
    body = b''.join(struct.pack('<HQqq', ids[name], at, tid, pid) + comm.encode() + b'\0' + struct.pack(f'<{len(numbers)}q', *numbers)
                    for at, name, tid, pid, comm, numbers in events)
    header = struct.pack('<I16sI', 0xc1fc1fc1, identity.bytes, 0)
    context = struct.calcsize('<QQQQQI')
    bits = (len(header) + context + len(body)) * 8
    with open(os.path.join(folder, 'channel0_0'), 'wb') as f:
        f.write(header + struct.pack('<QQQQQI', events[0][0], events[-1][0], bits, bits, 0, 0) + body)


def events_of(trace):
    """The entry and the exit of each call that has both, in weir's order of events."""
    d = document('query', '--json', '-i', trace, f'from op | where op in ({", ".join(OPS)}) && kind == syscall && ret is not null | '
                 'select start, dur, thread_id, op, tid, pid, comm, fd, size, ret')
    origin, events = int(d['origin']), []
    for r in d['rows']:
        if r['start'] is None or r['dur'] is None or r['ret'] is None or r['tid'] is None or r['pid'] is None:
            continue
        start, who = r['start'] + origin, (r['tid'], r['pid'], r['comm'])
        key = r['thread_id'], start
        numbers = [-1 if r[k] is None else r[k] for k in ('fd', 'size')]
        events.append(((start, *key, 0), (start, f'syscall_entry_{r["op"]}', *who, numbers)))
        events.append(((start + r['dur'], *key, 1), (start + r['dur'], f'syscall_exit_{r["op"]}', *who, [r['ret']])))
    events.sort(key=lambda e: e[0])
    return [e[1] for e in events]


# ---- both answers ----

DEFINITIONS = [  # --period, --period-captures
    ('r : $evt.$name == "syscall_entry_pread64" : $evt.$name == "syscall_exit_pread64" && $evt.tid == $begin.$evt.tid',
     'r : fd = $evt.fd : n = $evt.ret'),
    ('e : $evt.$name == "syscall_entry_read" || $evt.$name == "syscall_entry_pwrite64" : '
     '($evt.$name == "syscall_exit_read" || $evt.$name == "syscall_exit_pwrite64") && $evt.tid == $begin.$evt.tid', None),
    ('o : $evt.$name == "syscall_exit_openat" && $evt.ret >= 0 : '
     '$evt.$name == "syscall_entry_close" && $evt.fd == $begin.$evt.ret && $evt.pid == $begin.$evt.pid', 'o : fd = $evt.ret'),
    ('c : $evt.$name == "syscall_exit_accept4" && $evt.procname =* "ng*[a-x]" && $evt.ret > 0 : '
     '$evt.$name == "syscall_entry_close" && $evt.fd == $begin.$evt.ret && $evt.pid == $begin.$evt.pid', None),
    ('w : $evt.$name == "syscall_entry_write" && !($evt.count < 100) : '
     '$evt.$name == "syscall_exit_write" && $evt.tid == $begin.$evt.tid && $evt.ret >= 100', 'w : size = $evt.count : n = $evt.ret'),
    ('n : $evt.$name == "syscall_exit_recvfrom" && $evt.ret > 0', None),
]


def theirs(folder, definition, captures):
    args = ['--no-intersection', '--skip-validation', '--period', definition]
    if captures:
        args += ['--period-captures', captures]
    # babeltrace reads memory that it has not set: with what meson fills it with, no event comes
    env = {k: v for k, v in os.environ.items() if k != 'MALLOC_PERTURB_'}
    p = subprocess.run([ORACLE, *args, folder], env=env, capture_output=True, text=True, check=False, timeout=100)
    if p.returncode or not p.stdout.strip():
        raise RuntimeError(f'{ORACLE}: {p.stdout[:500]} {p.stderr[:500]}')
    found = []
    for table in json.loads(p.stdout.splitlines()[-1])['results']:
        for begin, end, _, _, at_begin, at_end in table['data']:
            values = {}
            for cell in (at_begin, at_end):
                values |= ast.literal_eval((cell or {}).get('value') or '{}')
            found.append((begin['value'], end['value'], tuple(sorted(values.items()))))
    return sorted(found)


def ours(trace, definition, captures):
    args = ['periods', '--json', '-i', trace, '--where', f'op in ({", ".join(OPS)}) && kind == syscall && ret is not null',
            '--period', definition] + (['--period-captures', captures] if captures else [])
    d = document(*args)
    origin = int(d['origin'])
    return sorted((r['start'] + origin, r['start'] + r['dur'] + origin,
                   tuple(sorted(json.loads(r['attributes'] or '{}').items())))
                  for r in d['rows'] if r['status'] == 'unset')


def main():
    if not shutil.which(ORACLE):
        tap.skip('periods as lttng-analyses finds them', f'{ORACLE} is not installed')
        return tap.end()
    with tempfile.TemporaryDirectory(prefix='weir-lttng-') as folder:
        trace, kernel = os.path.join(folder, 'calls.weir'), os.path.join(folder, 'kernel')
        subprocess.run([weir, 'synth', '-q', '-o', trace, '--rows', str(ROWS), '--seed', '7'], check=True)
        write_ctf(kernel, events_of(trace))
        for definition, captures in DEFINITIONS:
            want, got = theirs(kernel, definition, captures), ours(trace, definition, captures)
            differ = [f'{ORACLE} alone: {x}' for x in want if x not in got][:3] + [f'weir alone: {x}' for x in got if x not in want][:3]
            tap.check(f'{definition.split(" ")[0]}: {len(want)} matches, as {ORACLE} finds them', want == got and want, *differ,
                      f'{len(want)} and {len(got)}')
    return tap.end()


sys.exit(main())
