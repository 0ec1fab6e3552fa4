#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sql.py WEIR: SQL of a page reads the trace and nothing else, is refused with the reason, and leaves nothing behind."""
import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from client import Serve, Tap

weir = os.path.abspath(sys.argv[1])
root = os.geteuid() == 0
with open(weir, 'rb') as binary:
    text = binary.read()
sanitized = b'__asan_init' in text or b'__tsan_init' in text
folder = tempfile.mkdtemp(prefix='weir-serve-sql-')
trace = os.path.join(folder, 'a.trace')
temp = os.path.join(folder, "it's")  # no name breaks a statement
os.mkdir(temp)
os.environ['TMPDIR'] = temp
tap = Tap()
check = tap.check

LONG = 'SELECT count(*) FROM range(1000000000000) a'
# needs temporary files with the memory of a small server, and many of them
SPILLS = "SELECT count(*) AS n FROM (SELECT DISTINCT i, repeat('x', 100) || i FROM range(500000) t(i))"
FILLS = "SELECT count(*) AS n FROM (SELECT DISTINCT md5(i::VARCHAR) AS a, md5(a) AS b, md5(b) AS c FROM range(3000000) t(i))"


def sql(s, statement, **kw):
    status, _, body = s.ask('sql', method='POST', body=statement, **kw)
    return status, body.decode()


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not what() and time.monotonic() < until:
        time.sleep(0.02)
    return what()


def children(pid):
    with open(f'/proc/{pid}/task/{pid}/children', encoding='ascii') as f:
        found = f.read().split()
    for task in os.listdir(f'/proc/{pid}/task'):
        try:
            with open(f'/proc/{pid}/task/{task}/children', encoding='ascii') as f:
                found += f.read().split()
        except OSError:
            pass
    return sorted(set(found))


def status_of(pid):
    with open(f'/proc/{pid}/status', encoding='utf-8') as f:
        return dict(line.rstrip('\n').split(':\t', 1) for line in f if ':\t' in line)


def leave(s):
    """A client that goes away while its statement runs, once the statement's process is as it stays."""
    c = socket.create_connection(('127.0.0.1', s.port))
    c.sendall((f'POST /api/v1/sql HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.token}\r\n'
               f'Content-Length: {len(LONG)}\r\n\r\n{LONG}').encode())
    wait_for(lambda: children(s.process.pid) and (sanitized or status_of(children(s.process.pid)[0])['Seccomp'] == '2'))
    return c


def refusals(s):
    place = "SET VARIABLE p = current_setting('temp_directory') || '/x'; "
    for statement, word in ((f"{place}COPY (SELECT 1) TO (getvariable('p'))", 'COPY'), ("COPY (SELECT 1) TO 'x'", 'COPY'),
                            (f"{place}EXPLAIN ANALYZE COPY (SELECT 1) TO (getvariable('p'))", 'COPY'),
                            # DuckDB makes its folder before weir refuses it, if no filter of system calls does
                            ("EXPORT DATABASE 'x'", 'EXPORT' if sanitized else 'x'), ("ATTACH 'x.db'", 'ATTACH'), ('INSTALL httpfs', 'INSTALL'),
                            ('LOAD httpfs', 'LOAD'), ('SET threads = 1', 'threads'), ('PRAGMA enable_profiling', 'PRAGMA'),
                            ("CALL enable_logging(storage='stdout')", 'enable_logging'), ('CALL pragma_version()', 'CALL'),
                            ("CREATE TABLE t AS FROM enable_logging('QueryLog', storage='stdout'); SELECT 1", 'enable_logging'),
                            ("CREATE TABLE t AS FROM enable_logging('QueryLog', storage='file', storage_path='/tmp/x'); SELECT 1",
                             'enable_logging'),
                            ("CREATE TABLE t AS FROM enable_profiling(save_location='/tmp/x.json', format='json'); SELECT 1",
                             'enable_profiling'),
                            ('PREPARE p AS COPY (SELECT 1) TO \'x\'; EXECUTE p', 'PREPARE'),
                            ("SELECT * FROM read_text('/etc/passwd')", '/etc/passwd'), ("FROM glob('/*')", '/*')):
        status, body = sql(s, statement)
        error = json.loads(body).get('error', {}).get('message', '')
        check(f'refused with the reason: {statement}', status == 400 and word in error and 'memory' not in error, status, body)


def healthy(s):
    for statement, row in (("SET VARIABLE f = (SELECT list(id) FROM file); SELECT len(getvariable('f')) > 0 AS a", {'a': True}),
                           ('CREATE TABLE t AS SELECT 1 AS a; INSERT INTO t VALUES (2); UPDATE t SET a = 3 WHERE a = 2; '
                            'DELETE FROM t WHERE a = 1; SELECT a FROM t', {'a': 3}),
                           ('PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)', {'1': 2}),
                           ('CREATE MACRO m(x) AS x + 1; SELECT m(1) AS a', {'a': 2}),
                           ("SELECT current_setting('threads') AS a", {'a': os.cpu_count()}),
                           (SPILLS, {'n': 500000})):
        status, body = sql(s, statement)
        check(f'answered: {statement}', status == 200 and json.loads(body)['rows'] == [row], status, body[:500])
    for statement in ('DESCRIBE op', 'PRAGMA show_tables', 'EXPLAIN ANALYZE SELECT count(*) FROM op', 'SUMMARIZE SELECT 1'):
        status, body = sql(s, statement)
        check(f'answered: {statement}', status == 200, status, body[:500])


def confined(s):
    with leave(s):
        pid = children(s.process.pid)[0]
        st = status_of(pid)
        check('its process has no capabilities, now or later', all(int(st[c], 16) == 0 for c in ('CapEff', 'CapPrm', 'CapBnd', 'CapAmb')), st)
        check('and a filter of system calls', st['Seccomp'] == '2' and st['NoNewPrivs'] == '1', st)
        if root and int(status_of('self')['CapEff'], 16) >> 21 & 1:  # CAP_SYS_ADMIN
            users = st['Uid'].split() + st['Gid'].split()
            check('and is not root', '0' not in users, st)
            spaces = {n: os.readlink(f'/proc/{pid}/ns/{n}') != os.readlink(f'/proc/self/ns/{n}')
                      for n in ('mnt', 'net', 'pid', 'ipc', 'uts', 'user')}
            check('and sees no network, file or process of the host', all(spaces.values()), spaces)
            check('and of files the folder for its own', os.listdir(f'/proc/{pid}/root') == ['files'], os.listdir(f'/proc/{pid}/root'))
    check('it ends when its client goes', wait_for(lambda: not children(s.process.pid)))
    check('and leaves nothing behind', wait_for(lambda: not os.listdir(temp)), os.listdir(temp))


def signals(s):
    """How a statement's process ended is said as it was."""
    def ended(how):
        answer = []
        t = threading.Thread(target=lambda: answer.append(sql(s, LONG)))
        t.start()
        wait_for(lambda: children(s.process.pid) and status_of(children(s.process.pid)[0])['Seccomp'] == '2')
        how(int(children(s.process.pid)[0]))
        t.join()
        return answer[0]
    status, body = ended(lambda pid: os.kill(pid, signal.SIGXCPU))
    check('too much time', status == 408, status, body)
    status, body = ended(lambda pid: os.kill(pid, signal.SIGABRT))
    check('DuckDB gave up', status == 400 and 'DuckDB aborted' in body, status, body)
    status, body = ended(lambda pid: os.kill(pid, signal.SIGKILL))
    check('killed from outside', status == 500 and 'killed from outside' in body, status, body)


def killed(s):
    """The server is killed; the next one clears up, and takes nothing that is somebody's."""
    with leave(s):
        child = children(s.process.pid)[0]
        s.process.kill()
        s.process.wait()
        check('a statement ends with its server', wait_for(lambda: not os.path.exists(f'/proc/{child}')))
    left = os.listdir(temp)
    elsewhere = os.path.join(folder, 'elsewhere')
    os.mkdir(elsewhere)
    with open(os.path.join(elsewhere, 'precious'), 'w', encoding='ascii'):
        pass
    os.symlink(elsewhere, os.path.join(temp, 'weir-spill-linked'))
    os.symlink(elsewhere, os.path.join(temp, left[0], 'link'))
    held = os.path.join(temp, 'weir-spill-locked')
    os.mkdir(held)
    os.mkdir(os.path.join(temp, 'weir-spill-others-are-longer'))
    stays = {'weir-spill-linked', 'weir-spill-locked', 'weir-spill-others-are-longer'}
    if root:
        os.mkdir(os.path.join(temp, 'weir-spill-other1'))
        os.chown(os.path.join(temp, 'weir-spill-other1'), 65534, 65534)
        stays.add('weir-spill-other1')
    fd = os.open(held, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    with Serve(weir, trace):
        check('the next server removes what a killed one left', len(left) == 1 and not left[0] in os.listdir(temp), left, os.listdir(temp))
        check('but nothing that is in use, of others, or behind a link', set(os.listdir(temp)) == stays
              and os.listdir(elsewhere) == ['precious'], os.listdir(temp))
    os.close(fd)
    for name in stays:
        path = os.path.join(temp, name)
        (os.unlink if os.path.islink(path) else os.rmdir)(path)


def bounded():
    """With 100 MiB of disk a statement has 64 MiB of temporary files, and its process no more."""
    small = os.path.join(folder, 'small')
    os.mkdir(small)
    if not root or subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=100m', 'none', small], check=False).returncode:
        return
    try:
        with Serve(weir, '--memory', '64MiB', trace, environment=dict(os.environ, TMPDIR=small)) as s:
            status, body = sql(s, FILLS)
            check('too many temporary files: the reason', status == 413 and '64 MiB of temporary files' in body, status, body)
            answer = []
            t = threading.Thread(target=lambda: answer.append(sql(s, LONG)))
            t.start()
            wait_for(lambda: os.listdir(small) and children(s.process.pid))
            # what a process that was taken over could do
            name = os.path.join(small, os.listdir(small)[0], 'files', 'big')
            with open(name, 'wb') as f:
                os.posix_fallocate(f.fileno(), 0, 70 << 20)
            t.join()
            check('and it is ended', answer[0][0] == 413 and '64 MiB of temporary files' in answer[0][1], answer)
            check('and its files are gone', os.listdir(small) == [], os.listdir(small))
    finally:
        subprocess.run(['umount', small], check=True)


def worded(s):
    """What is wrong is said in words of the trace, with the nearest name, not in those of the engine."""
    for statement, want in (('SELECT byts FROM op', 'unknown column "byts"; near it are "bytes"'),
                            ('SELECT * FROM fle', 'unknown table fle; did you mean "file"?'),
                            ('SELECT cuont(*) FROM op', 'unknown function cuont; did you mean "count"?'),
                            ("SELECT 1 FROM op WHERE class = 'classic'", "'classic' is not a value of class (character 32)"),
                            ("SELECT 1 FROM op WHERE err IN ('EIO', 'errno')", "'errno' is not a value of err"),
                            ('SELECT 1 FROM op WHERE op = $$raed$$', "'raed' is not a value of op (character 29); nearest: read"),
                            ('SELECT sum(comm) FROM op_named', 'no function accepts these arguments: sum(text)')):
        status, body = sql(s, statement)
        message = json.loads(body)['error']['message']
        check(f'the error of {statement}', status == 400 and message.startswith(want) and 'ENUM' not in message, message)
    for statement in ("SELECT count(*) FROM op WHERE err = 'err_500'", "SELECT $$op = 'raed'$$ AS x"):
        check(f'{statement} has no error', sql(s, statement)[0] == 200)


def main():
    subprocess.run([weir, 'synth', '-q', '-o', trace, '--rows', '5000', '--seed', '3'], check=True)
    s = Serve(weir, '--memory', '64MiB', trace)
    try:
        status, body = sql(s, 'SELECT 1 AS a')
        if status == 503:
            print(f'1..0 # SKIP {body}')
            return 0
        refusals(s)
        worded(s)
        healthy(s)
        if not sanitized:
            confined(s)
            signals(s)
            killed(s)
            bounded()
    finally:
        s.stop(signal.SIGKILL)
        shutil.rmtree(folder)
    return tap.end()


sys.exit(main())
