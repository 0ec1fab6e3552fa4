#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""net.py WEIR DROP: the tables net and net_sample of a recording, against TCP_INFO of the program's own sockets and the counters
of a network namespace. DROP is a BPF program for tc that drops packets at random. Needs root. Speaks TAP."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap, wait_attached  # noqa: E402

PROGRAM = r'''
import fcntl, json, select, socket, struct, subprocess, sys, termios, threading, time

truth = {}
AT = {'rtt': (68, 'I'), 'retransmits': (100, 'I'), 'bytes_in': (128, 'Q'), 'rtt_min': (148, 'I'), 'packets_in': (152, 'I'),
      'packets_out': (156, 'I'), 'bytes_sent': (200, 'Q'), 'retransmit_bytes': (208, 'Q')}  # of struct tcp_info

def info(s, other):
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    got = {k: struct.unpack_from(t, raw, at)[0] for k, (at, t) in AT.items()}
    got['bytes_out'] = got.pop('bytes_sent') - got['retransmit_bytes']
    return got | {'name': 'tcp %s:%d->%s:%d' % (s.getsockname() + other)}

def counter(file, group, name):
    lines = [l.split() for l in open(file) if l.startswith(group)]
    return int(dict(zip(*lines))[name])

def pair(server):
    a = socket.create_connection(server.getsockname())
    return a, server.accept()[0]

server = socket.socket()
server.bind(('127.0.0.1', 0))
server.listen(5)
total, piece = 3000000, 20000

# much over a link that loses packets; its loss ends before the connection does, so that no end of it is sent again
a, b = pair(server)
subprocess.run('tc qdisc add dev lo clsact && tc filter add dev lo ingress bpf da obj %s sec tc' % sys.argv[1], shell=True, check=True)
def receive():
    n = 0
    while n < total:
        n += len(b.recv(65536))
    b.sendall(b'ok')
t = threading.Thread(target=receive)
t.start()
for i in range(total // piece):
    a.sendall(b'x' * piece)
a.recv(2)
t.join()
subprocess.run('tc qdisc del dev lo clsact', shell=True, check=True)
time.sleep(0.3)
truth['lossy'] = [info(a, a.getpeername()), info(b, b.getpeername())]
a.close()
b.recv(1)
b.close()

# more clients than the backlog of a server takes that accepts none
lazy = socket.socket()
lazy.bind(('127.0.0.1', 0))
lazy.listen(1)
clients = []
for i in range(6):
    s = socket.socket()
    s.setblocking(False)
    try:
        s.connect(lazy.getsockname())
    except BlockingIOError:
        pass
    clients.append(s)
time.sleep(1.3)
truth['syn'] = sum(info(s, lazy.getsockname())['retransmits'] for s in clients)
truth['clients'] = [s.getsockname()[1] for s in clients]
for s in clients:
    s.close()
lazy.close()
truth['lazy'] = [counter('/proc/net/netstat', 'TcpExt:', 'ListenOverflows'), counter('/proc/net/netstat', 'TcpExt:', 'ListenDrops')]

# a server that defers: the kernel drops the last packet of each handshake and takes the connection with the first data
patient = socket.socket()
patient.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 5)
patient.bind(('127.0.0.1', 0))
patient.listen(5)
for i in range(3):
    a = socket.create_connection(patient.getsockname())
    a.sendall(b'x')
    b = patient.accept()[0]
    b.recv(1)
    a.close()
    b.close()
patient.close()

# nobody listens; a connection that is cut off
try:
    socket.create_connection(('127.0.0.1', 1))
except ConnectionRefusedError:
    pass
a, b = pair(server)
truth['cut'] = [a.getsockname()[1], b.getpeername()[1]]
a.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 0))
a.close()
try:
    b.recv(1)
except ConnectionResetError:
    pass

# more datagrams than a socket takes
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
u.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
u.bind(('127.0.0.1', 0))
u.setblocking(False)
try:
    u.recv(1)
except BlockingIOError:
    pass
w = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(20):
    w.sendto(b'y' * 1000, u.getsockname())
truth['datagrams'] = counter('/proc/net/snmp', 'Udp:', 'RcvbufErrors')

# a peer that does not read until its window is closed
a, b = pair(server)
a.setblocking(False)
sent = 0
quiet = 0
while quiet < 20:
    try:
        sent += a.send(b'z' * 65536)
        quiet = 0
    except BlockingIOError:
        quiet += 1
        time.sleep(0.01)
truth['closed'] = a.getsockname()[1]
got = 0
while got < sent:
    got += len(b.recv(1 << 20))

# one message that waits for 100 ms until it is read, and one that does not wait
a, b = pair(server)
a.sendall(b'late')
select.select([b], [], [])
time.sleep(0.1)
b.recv(100)
truth['late'] = [a.getsockname()[1], 100000000]

# messages that wait together: each but the first ends a sample in which nothing was read
a, b = pair(server)
a.sendall(b'late')
for _ in range(3):
    time.sleep(0.15)
    a.sendall(b'more')
select.select([b], [], [])
b.recv(100)
truth['later'] = [a.getsockname()[1], 225000000]
print(json.dumps(truth))
'''

# A connection with a past, of which recorded calls are seen after it was used again.
OLD = r'''
import json, socket, struct, sys
AT = {'bytes_in': (128, 'Q'), 'packets_in': (152, 'I'), 'packets_out': (156, 'I'), 'bytes_out': (200, 'Q')}

def info(s):
    raw = s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return {k: struct.unpack_from(t, raw, at)[0] for k, (at, t) in AT.items()}

def move(n):
    for x, y in (a, b), (b, a):
        for i in range(10):
            x.sendall(b'x' * n)
            y.recv(n, socket.MSG_WAITALL)

server = socket.create_server(('127.0.0.1', 0))
a = socket.create_connection(server.getsockname())
b = server.accept()[0]
move(20000)
print('ready', flush=True)
sys.stdin.readline()
move(5000)
before = info(a), info(b)
move(3000)
after = info(a), info(b)
names = ['tcp %s:%d->%s:%d' % (s.getsockname() + s.getpeername()) for s in (a, b)]
print(json.dumps([{k: y[k] - x[k] for k in AT} | {'name': n} for x, y, n in zip(before, after, names)]), flush=True)
'''

weir, drop = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
tap = Tap()


def run(*args):
    return subprocess.run(args, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False, timeout=120)


def rows(trace, text):
    r = run(weir, 'query', '--json', text, trace)
    if r.returncode:
        sys.exit(r.stderr)
    return json.loads(r.stdout)['rows']


def sums(trace):
    fields = ('bytes_out', 'bytes_in', 'packets_out', 'packets_in', 'retransmits', 'retransmit_bytes')
    text = 'from net_sample | by file | ' + ', '.join(f'sum({f}) as {f}' for f in fields) + ', min(rtt_min) as rtt_min, max(srtt) as srtt'
    return {row['file']: row for row in rows(trace, text)}


def compare(name, want, got):
    wrong = [f'{k}: TCP_INFO {v}, rows {got.get(k)}' for k, v in want.items()
             if k not in ('rtt', 'rtt_min', 'name') and got.get(k) != v]
    tap.none(f'{name}: bytes, segments and retransmits are those of TCP_INFO', wrong)


def lossy(trace, truth, by):
    for name, want in zip(('sender', 'receiver'), truth['lossy']):
        compare(name, want, by.get(want['name'], {}))
    sender = truth['lossy'][0]
    retransmits = rows(trace, f'from net | where event == retransmit && file == "{sender["name"]}" | sum(packets) as n, sum(bytes) as b')[0]
    tap.check('each copy is in a row of net', retransmits == {'n': sender['retransmits'], 'b': sender['retransmit_bytes']},
              retransmits, sender)
    tap.check('the link lost something', sender['retransmits'] > 0)
    got = by[sender['name']]
    tap.check('round-trip times are those of TCP_INFO', got['rtt_min'] == sender['rtt_min'] * 1000 and got['srtt'] >= got['rtt_min'],
              got, sender)
    dropped = rows(trace, 'from net | where event == drop && reason == "TC_INGRESS" | count() as n')
    reasons = rows(trace, 'from net | where event == drop | by reason | count() as n')
    tap.check('what the link lost has its reason', dropped[0]['n'] > 0 or run('uname', '-r').stdout < '6.2', reasons)


def backlog(trace, truth):
    got = rows(trace, 'from net | where event == listen_drop | by reason | sum(packets) as n')
    tap.check('requests that a full backlog dropped, and no other', truth['lazy'][0] == truth['lazy'][1] > 0 and
              got == [{'reason': 'backlog full', 'n': truth['lazy'][1]}], got, truth['lazy'])
    got = rows(trace, 'from net | where event == retransmit && tcp_state == syn_sent | sum(packets) as n')
    tap.check('each SYN that was sent again', truth['syn'] > 0 and got == [{'n': truth['syn']}], got, truth['syn'])


def resets(trace, truth):
    got = rows(trace, 'from net | where event == reset_received && tcp_state == syn_sent | select src')
    tap.check('a refused connection', got == [{'src': '127.0.0.1:1'}], got)
    for event, ends in ('reset_sent', '127.0.0.1:%d->*' % truth['cut'][0]), ('reset_received', '*->127.0.0.1:%d' % truth['cut'][1]):
        got = rows(trace, f'from net | where event == {event} && file ~ "tcp {ends}" | count() as n')
        tap.check(f'{event} of a connection that is cut off', got == [{'n': 1}], got,
                  rows(trace, 'from net | where event in (reset_sent, reset_received) | select event, file'))


def queues(trace, truth):
    got = rows(trace, 'from net | where event == drop && file ~ "udp *" | by reason | sum(packets) as n')
    tap.check('datagrams that found no room', got == [{'reason': 'SOCKET_RCVBUFF', 'n': truth['datagrams']}] and truth['datagrams'] > 0,
              got, truth['datagrams'])
    got = rows(trace, 'from net | where event == zero_window && dur > 0 | select file')
    tap.check('a window that was closed', any(f':{truth["closed"]}->' in r['file'] for r in got), got)
    port, least = truth['late']
    got = rows(trace, f'from net_sample | where file ~ "tcp *->127.0.0.1:{port}" && in_read > 0 | select in_wait, in_read')
    tap.check('how long a message waited', len(got) == 1 and got[0]['in_wait'] >= least and got[0]['in_read'] == 4, got)
    port, least = truth['later']
    got = rows(trace, f'from net_sample | where file ~ "tcp *->127.0.0.1:{port}" && in_read > 0 | select in_wait, in_read')
    tap.check('how long several did, over samples in which none was read', len(got) == 1 and got[0]['in_wait'] >= least and got[0]['in_read'] == 16, got)


def report(trace, truth):
    r = run(weir, 'report', 'net', '--json', trace)
    by = {row['connection']: row for row in json.loads(r.stdout)['rows']}
    want = truth['lossy'][0]
    got = by.get(want['name'], {})
    tap.check('report net has the same', (got.get('sent'), got.get('retransmits')) == (want['bytes_out'], want['retransmits']) and
              got['process'].startswith('python3 '), got, want)
    r = run(weir, 'report', 'net', trace)
    tap.check('and as a table', r.returncode == 0 and want['name'] in r.stdout and '~out_wait' in r.stdout, r.stdout, r.stderr)


def old(folder):
    trace = os.path.join(folder, 'old.trace')
    program = subprocess.Popen([sys.executable, '-I', '-S', '-c', OLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    program.stdout.readline()
    recorder = subprocess.Popen([weir, 'record', '-q', '-e', 'getsockopt', '--with', 'net', '-p', str(program.pid), '-o', trace])
    wait_attached(recorder)
    truth = json.loads(program.communicate('go\n', timeout=60)[0])
    recorder.wait(60)
    by = sums(trace)
    for name, want in zip(('one end', 'the other'), truth):
        compare(f'{name} of an old connection, from where it was first seen', want, by.get(want['name'], {}))


def main():
    if run('tc', '-V').returncode:
        print('1..0 # SKIP tc is not installed')
        return 0
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, 't.trace')
        inside = 'ip link set lo up mtu 1500 && exec "$@"'
        r = run('unshare', '-n', 'sh', '-c', inside, '-', weir, 'record', '-q', '--with', 'net', '-o', trace, '--', sys.executable,
                '-I', '-S', '-c', PROGRAM, drop)
        if 'cannot load the kernel programs' in r.stderr:
            print('1..0 # SKIP ' + r.stderr.splitlines()[0])
            return 0
        if r.returncode:
            sys.exit(r.stderr)
        truth = json.loads(r.stdout)
        tap.check('the recording is whole', not r.stderr, r.stderr)
        lossy(trace, truth, sums(trace))
        backlog(trace, truth)
        resets(trace, truth)
        queues(trace, truth)
        report(trace, truth)
        old(folder)
    return tap.end()


sys.exit(main())
