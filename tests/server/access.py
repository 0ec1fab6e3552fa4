#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""access.py WEIR: who gets in: the link that is opened, cookies of two servers in one browser, Host headers, and clients that only
hold connections, of this user and of another."""
import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from client import Serve, Tap

weir = os.path.abspath(sys.argv[1])
folder = tempfile.mkdtemp(prefix='weir-serve-access-')
tap = Tap()
check = tap.check
OTHER = 65534  # another user


def forked(user, work, *args):
    """work(*args) in a process of its own, of another user where one is given: its pid, and what it writes to its first argument."""
    read, write = os.pipe()
    pid = os.fork()
    if pid:
        os.close(write)
        return pid, read
    try:
        if user is not None:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
        os.close(read)
        work(write, *args)
    finally:
        os._exit(0)


def end(pid, read):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(read)


def hold(told, port, count, slow):
    """Holds so many connections, sends a byte of a request now and then to each, connects again where one was closed."""
    held, said = [], False
    while True:
        try:
            while len(held) < count:
                held.append(socket.create_connection(('127.0.0.1', port)))
                held[-1].setblocking(False)
        except OSError:
            pass
        if not said:
            os.write(told, b'held')
            said = True
        for c in list(held):
            try:
                if slow:
                    c.send(b'G')
                if c.recv(1) == b'':
                    raise ConnectionResetError
            except BlockingIOError:
                pass
            except OSError:
                c.close()
                held.remove(c)
        time.sleep(0.05)


def raw(s, request):
    with socket.create_connection(('127.0.0.1', s.port), timeout=30) as c:
        c.sendall(request.encode())
        answer = b''
        while b'\r\n' not in answer:
            more = c.recv(4096)
            if not more:
                break
            answer += more
    return int(answer.split()[1]) if answer else 0


def hosts(s):
    for more in ('Host: evil.example', f'Host: 127.0.0.1:{s.port}', 'host: x'):
        for before in (False, True):
            ours = f'Host: 127.0.0.1:{s.port}'
            lines = [more, ours] if before else [ours, more]
            status = raw(s, '\r\n'.join(['GET /api/v1/trace HTTP/1.1', *lines, f'Authorization: Bearer {s.token}', 'Connection: close', '', '']))
            check(f'a second Host header ({more.replace(str(s.port), "PORT")}, {"before" if before else "behind"} ours) is refused', status == 400, status)


def cookie_of(s):
    return s.ask('session', method='POST')[1]['set-cookie'].split(';')[0]


def cookies():
    with Serve(weir, 'a.trace', folder=folder) as a, Serve(weir, 'b.trace', folder=folder) as b:
        jar = {}  # as a browser keeps them: by name, for every port of the host
        for s in (a, b):
            name, value = cookie_of(s).split('=')
            jar[name] = value
            check('the cookie is named after the port', str(s.port) in name, name)
            check('its value is not the token', value != s.token and len(value) >= 32, value, s.token)
            check('as a bearer it opens nothing', s.ask('trace', token=False, headers={'Authorization': f'Bearer {value}'})[0] == 401)
            check('as the cookie the token opens nothing', s.ask('trace', token=False, headers={'Cookie': f'{name}={s.token}'})[0] == 401)
        both = {'Cookie': '; '.join(f'{k}={v}' for k, v in jar.items())}
        for s, name in ((a, 'a'), (b, 'b')):
            status, _, body = s.ask('events', token=False, headers=both)
            check(f'two servers in one browser: the events of {name}', status == 200 and b'event: end' in body and f'{name}.trace'.encode() in body, status)
            status, _, _ = s.ask('query', token=False, headers=both, q='by op', format='csv', download=1)
            check('and its downloads', status in (200, 503), status)
        again = cookie_of(a)
        check('a cookie that is asked for again is the same', again.split('=')[1] in jar.values())
        name, value = again.split('=')
        check('the cookie of a is none of b', b.ask('trace', token=False, headers={'Cookie': f'{name}={value}'})[0] == 401)
        if os.geteuid() == 0:
            status = as_other(a, name, value)
            check('another user of the host who got hold of the cookie is not let in', status == 401, status)


def as_other(s, name, value):
    def ask(told):
        os.write(told, b'%d' % s.ask('trace', token=False, headers={'Cookie': f'{name}={value}'})[0])

    pid, read = forked(OTHER, ask)
    status = int(os.read(read, 10))
    end(pid, read)
    return status


# ---- --open ----

def opened():
    """xdg-open is one that keeps what it was called with, and what it found in the file."""
    tools = os.path.join(folder, 'tools')
    os.mkdir(tools)
    with open(os.path.join(tools, 'xdg-open'), 'w', encoding='utf-8') as f:
        f.write(f'#!/bin/sh\nf=${{1#file://}}\ncat "$f" >{folder}/page\nstat -c "%a %u" "$f" "$(dirname "$f")" >{folder}/modes\n'
                f'printf %s "$1" >{folder}/opened.part\nmv {folder}/opened.part {folder}/opened\n')
    os.chmod(os.path.join(tools, 'xdg-open'), 0o755)
    runtime = os.path.join(folder, 'runtime')
    os.mkdir(runtime, 0o700)
    for where, env in (('its runtime folder', {'XDG_RUNTIME_DIR': runtime}), ('none', {'XDG_RUNTIME_DIR': ''}),
                       ('one that others can write', {'XDG_RUNTIME_DIR': folder + '/open'})):
        for name in ('opened', 'page', 'modes'):
            if os.path.exists(os.path.join(folder, name)):
                os.unlink(os.path.join(folder, name))
        os.makedirs(folder + '/open', exist_ok=True)
        os.chmod(folder + '/open', 0o777)
        env = {**os.environ, **env, 'DISPLAY': ':99', 'TMPDIR': folder, 'PATH': tools + ':' + os.environ['PATH']}
        with Serve(weir, '--open', 'a.trace', folder=folder, environment=env) as s:
            for _ in range(500):
                if os.path.exists(os.path.join(folder, 'opened')):
                    break
                time.sleep(0.02)
            with open(os.path.join(folder, 'opened'), encoding='utf-8') as f:
                argument = f.read()
            with open(os.path.join(folder, 'page'), encoding='utf-8') as f:
                page = f.read()
            with open(os.path.join(folder, 'modes'), encoding='utf-8') as f:
                modes = f.read().split()
            check(f'--open, a runtime folder: {where}: no token on a command line', s.token not in argument and argument.startswith('file:///'), argument)
            check('the file redirects to the link', re.search(r'url=' + re.escape(s.url), page), page)
            check('only its user can read it, and look into its folder', modes == ['600', str(os.geteuid()), '700', str(os.geteuid())], modes)
            check('it lies where it should', argument.startswith('file://' + runtime) == (where == 'its runtime folder'), argument)
        left = glob.glob(folder + '/**/weir-*', recursive=True)
        check('nothing of it is left at the end', left == [], left)


# ---- connections ----

def answered(s, times):
    """How many of the owner's requests, each on a connection of its own, are answered."""
    good = 0
    for _ in range(times):
        try:
            good += s.ask('check', q='by op', timeout=20)[0] == 200
        except OSError:
            pass
    return good


def holds():
    whos = [('this user', None)] + ([('another user', OTHER)] if os.geteuid() == 0 else [])
    for who, user in whos:
        for count, how in ((256, 'idle'), (300, 'slow')):
            with Serve(weir, 'a.trace', folder=folder) as s:
                own = socket.create_connection(('127.0.0.1', s.port))  # a page that is open
                ask = f'GET /api/v1/trace HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.token}\r\n\r\n'.encode()
                own.sendall(ask)
                own.recv(65536)
                pid, read = forked(user, hold, s.port, count, how == 'slow')
                check(f'{count} {how} connections of {who} are there', os.read(read, 4) == b'held')
                good = answered(s, 20)
                own.settimeout(20)
                try:
                    own.sendall(ask)
                    kept = own.recv(65536).startswith(b'HTTP/1.1 200')
                except OSError:
                    kept = False
                end(pid, read)
                own.close()
            check(f'{count} {how} connections of {who}: the owner is answered', good == 20, good)
            check('and his open connection stays', kept)


def many_pages(s):
    """As many connections as ten pages hold, each of which has shown the token, stay open together."""
    held = []
    for _ in range(70):
        c = socket.create_connection(('127.0.0.1', s.port), timeout=20)
        c.sendall(f'GET /api/v1/check?q=by+op HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.token}\r\n\r\n'.encode())
        c.recv(65536)
        held.append(c)
    good = 0
    for c in held:
        try:
            c.sendall(f'GET /api/v1/check?q=by+op HTTP/1.1\r\nHost: 127.0.0.1:{s.port}\r\nAuthorization: Bearer {s.token}\r\n\r\n'.encode())
            good += c.recv(65536).startswith(b'HTTP/1.1 200')
        except OSError:
            pass
        c.close()
    check('seventy connections of pages stay open', good == 70, good)


def main():
    for name in ('a', 'b'):
        subprocess.run([weir, 'synth', '-q', '-o', os.path.join(folder, name + '.trace'), '--rows', '2000'], check=True)
    with Serve(weir, 'a.trace', folder=folder) as s:
        hosts(s)
        many_pages(s)
    cookies()
    opened()
    holds()
    return tap.end()


try:
    sys.exit(main())
finally:
    shutil.rmtree(folder, ignore_errors=True)
