#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""secure.py WEIR: a ClickHouse that is reached over TLS and asks for a password, as one of several nodes. Its certificate is made here.
What must not work is tried as well, and no message or command line has the password."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../common'))
import click  # noqa: E402
from tap import Tap  # noqa: E402

PASSWORD = 'a "secret" & <more>'
HTTPS = """<https_port>{1}</https_port><openSSL><server><certificateFile>{0}/server.crt</certificateFile>
<privateKeyFile>{0}/server.key</privateKeyFile><verificationMode>none</verificationMode><loadDefaultCAFile>false</loadDefaultCAFile>
<cacheSessions>true</cacheSessions><disableProtocols>sslv2,sslv3</disableProtocols><preferServerCiphers>true</preferServerCiphers></server></openSSL>"""


def write(path, text, mode=0o600):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    os.chmod(path, mode)
    return path


def make_certificates(folder):
    """An authority, the server's certificate of it, and another authority that knows nothing of it."""
    def openssl(*args):
        subprocess.run(['openssl', *args], cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    for name in ('ca', 'other'):
        openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', f'/CN={name}', '-keyout', f'{name}.key', '-out', f'{name}.crt')
    openssl('req', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=localhost', '-keyout', 'server.key', '-out', 'server.csr')
    write(os.path.join(folder, 'names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
    openssl('x509', '-req', '-in', 'server.csr', '-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', 'server.crt')


def weir_run(weir, *args, **login):
    env = {k: v for k, v in os.environ.items() if k not in ('WEIR_USER', 'WEIR_PASSWORD')}
    r = subprocess.run([weir, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False, env={**env, **login})
    return r.returncode, r.stdout.decode(), r.stderr.decode()


def checks(tap, weir, folder, ports):
    tls, plain, dead = ports
    ca, other = (os.path.join(folder, f'{n}.crt') for n in ('ca', 'other'))
    login = {'WEIR_USER': 'loader', 'WEIR_PASSWORD': PASSWORD}
    held = write(os.path.join(folder, 'login'), f'# of the loader\nuser=loader\npassword={PASSWORD}\n')
    open_file = write(os.path.join(folder, 'open'), f'user=loader\npassword={PASSWORD}\n', 0o644)
    trace = os.path.join(folder, 'a.weir')
    weir_run(weir, 'synth', '-q', '-o', trace, '-n', '20000')
    want = weir_run(weir, 'query', '--csv', '-i', trace, 'by op | count(), p99(dur)')
    secure = f'clickhouse://127.0.0.1:{tls}/weir?tls=1&ca={ca}'
    said = weir_run(weir, 'load', '--to', secure, trace, **login)
    tap.check('loaded over TLS, by user and password of the environment', said[0] == 0 and '20,000 calls' in said[2], *said)
    got = weir_run(weir, 'query', '--csv', '-i', f'{secure}&login={held}', 'by op | count(), p99(dur)')
    tap.check('asked likewise, by those of a file', got[:2] == want[:2], *got)
    got = weir_run(weir, 'query', '--csv', '-i', f'clickhouse://127.0.0.1:{plain}/weir?login={held}', 'by op | count(), p99(dur)')
    tap.check('without TLS', got[:2] == want[:2], *got)
    nodes = f'clickhouse://127.0.0.1:{dead},localhost:{tls}/weir?tls=1&ca={ca}&login={held}'
    got = weir_run(weir, 'query', '--csv', '-i', nodes, 'by op | count(), p99(dur)')
    tap.check('the first node is away: the second answers, by name', got[:2] == want[:2], *got)
    got = weir_run(weir, 'report', '--json', '-i', nodes)
    tap.check('rows are fetched from it, too', got[0] == 0, got[2])
    got = weir_run(weir, 'load', '--to', nodes, trace)
    tap.check('and it is loaded into', got[0] == 0 and '0 calls' in got[2] and 'already' in got[2], *got)
    windows = write(os.path.join(folder, 'windows'), f'user=loader\r\npassword={PASSWORD}\r\n')
    got = weir_run(weir, 'query', '--csv', '-i', f'{secure}&login={windows}', 'by op | count(), p99(dur)')
    tap.check('a file whose lines end as on Windows', got[:2] == want[:2], *got)
    nameless = write(os.path.join(folder, 'nameless'), f'password={PASSWORD}\n')
    refused = {
        'a certificate of another authority': (f'clickhouse://127.0.0.1:{tls}/weir?tls=1&ca={other}', login, 'certificate'),
        'a certificate that nobody knows': (f'clickhouse://127.0.0.1:{tls}/weir?tls=1', login, 'certificate'),
        'an authority that is not there': (f'clickhouse://127.0.0.1:{tls}/weir?tls=1&ca={folder}/none', login, 'ca=FILE'),
        'TLS to a port without': (f'clickhouse://127.0.0.1:{plain}/weir?tls=1&ca={ca}&timeout=5s', login, 'without tls=1'),
        'no TLS to a port with': (f'clickhouse://127.0.0.1:{tls}/weir?timeout=5s', login, str(tls)),
        'a wrong password': (secure, {**login, 'WEIR_PASSWORD': 'wrong'}, 'password'),
        'a password without a user': (secure, {'WEIR_PASSWORD': PASSWORD}, 'WEIR_USER'),
        'a file without a user': (f'{secure}&login={nameless}', {}, 'no line user=NAME'),
        'a folder': (f'{secure}&login={folder}', {}, 'is not a file'),
        'an IPv6 address without brackets': ('clickhouse://::1/weir', {}, 'in brackets'),
        'a port that cannot be': ('clickhouse://localhost:99999/weir', {}, '1 to 65535'),
        'no user': (secure, {}, 'user'),
        'a file that others can read': (f'{secure}&login={open_file}', {}, 'chmod 600'),
        'a file that is not there': (f'{secure}&login={folder}/nobody', {}, 'nobody'),
        'a password in the address': (f'{secure}&password={PASSWORD}', {}, 'WEIR_PASSWORD'),
        'no node that answers': (f'clickhouse://127.0.0.1:{dead}/weir?login={held}', {}, str(dead)),
    }
    for name, (address, env, word) in refused.items():
        code, out, said = weir_run(weir, 'query', '-i', address, 'count()', **env)
        tap.check(f'refused: {name}', code in (1, 2) and not out and word.lower() in said.lower() and said.count('\n') == 1
                  and 'secret' not in said, code, out, said)


def main():
    if not click.program() or not shutil.which('openssl'):
        print('1..0 # SKIP clickhouse-server or openssl is not installed')
        return 77
    tap = Tap()
    with tempfile.TemporaryDirectory(prefix='weir-secure-') as folder:
        tls, dead = click.free_ports(2)
        make_certificates(folder)
        with click.Server(folder, 'loader', PASSWORD, HTTPS.format(folder, tls)) as server:
            checks(tap, sys.argv[1], folder, (tls, server.port, dead))
    return tap.end()


sys.exit(main())
