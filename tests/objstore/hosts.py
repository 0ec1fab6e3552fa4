# SPDX-License-Identifier: Apache-2.0
"""Four hosts for the object store, each a network namespace with a name and a boot of its own, joined by a bridge in a fifth: runs a
client and a chain of nodes there, recorded by one weir each, by one for all, or not at all. Needs root."""
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import uuid

NODES = ('n1', 'n2', 'n3')
HOSTS = ('client', *NODES)
ADDRESSES = {'client': '10.77.0.10', 'n1': '10.77.0.1', 'n2': '10.77.0.2', 'n3': '10.77.0.3'}
PORT = 7700
PREFIX = 'objst'
LIMIT_S = 60  # a node or client that is older is killed by its own alarm


def ip(*args, check=True):
    return subprocess.run(['ip', *args], capture_output=True, text=True, check=check, timeout=30)


def missing():
    """Why this machine cannot make such hosts, or None."""
    if os.geteuid():
        return 'needs root'
    name = f'{PREFIX}{os.getpid()}-try'
    try:
        if ip('netns', 'add', name, check=False).returncode:
            return 'no network namespaces'
        for args in (('link', 'add', 'try0', 'type', 'veth', 'peer', 'name', 'try1'), ('link', 'add', 'try2', 'type', 'bridge')):
            if ip('-n', name, *args, check=False).returncode:
                return f'no {args[-1] if "bridge" in args else "veth"} devices'
    except FileNotFoundError:
        return 'no ip'
    finally:
        with contextlib.suppress(OSError):
            ip('netns', 'del', name, check=False)
    return None


def remove_stale():
    """Namespaces that a run left behind which was killed."""
    for name in os.listdir('/run/netns') if os.path.isdir('/run/netns') else ():
        pid = name[len(PREFIX):].split('-')[0]
        if name.startswith(PREFIX) and pid.isdigit() and not os.path.exists(f'/proc/{pid}'):
            ip('netns', 'del', name, check=False)


class Hosts:
    """The namespaces, as long as the `with` lasts; or, with loopback=True, none: all on 127.0.0.1."""
    count = 0

    def __init__(self, folder, loopback=False):
        self.folder = os.path.abspath(folder)
        self.loopback = loopback
        Hosts.count += 1
        self.prefix = f'{PREFIX}{os.getpid()}-{Hosts.count}-'
        self.made, self.running = [], []
        self.boots = {}

    def __enter__(self):
        try:
            remove_stale()
            for host in HOSTS:
                os.makedirs(os.path.join(self.folder, host), exist_ok=True)
                self.boots[host] = str(uuid.uuid4())
                with open(os.path.join(self.folder, f'{host}.boot'), 'w', encoding='utf-8') as f:
                    f.write(self.boots[host] + '\n')
            if not self.loopback:
                self.make_spaces()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def make_spaces(self):
        bridge = self.prefix + 'bridge'
        for name in (bridge, *(self.prefix + h for h in HOSTS)):
            ip('netns', 'add', name)
            self.made.append(name)
            ip('-n', name, 'link', 'set', 'lo', 'up')
        ip('-n', bridge, 'link', 'add', 'hub', 'type', 'bridge')
        ip('-n', bridge, 'link', 'set', 'hub', 'up')
        for host in HOSTS:
            name = self.prefix + host
            ip('-n', bridge, 'link', 'add', f'to-{host}', 'type', 'veth', 'peer', 'name', 'eth0', 'netns', name)
            ip('-n', bridge, 'link', 'set', f'to-{host}', 'master', 'hub', 'up')
            ip('-n', name, 'addr', 'add', f'{ADDRESSES[host]}/24', 'dev', 'eth0')
            ip('-n', name, 'link', 'set', 'eth0', 'up')

    def __exit__(self, *_):
        for p in self.running:
            if p.poll() is None:
                with contextlib.suppress(OSError):
                    os.killpg(p.pid, signal.SIGKILL)
                p.wait()
            if p.stdout:
                p.stdout.close()
        for name in reversed(self.made):
            ip('netns', 'del', name, check=False)

    def address(self, host):
        return f'127.0.0.1:{PORT + HOSTS.index(host)}' if self.loopback else f'{ADDRESSES[host]}:{PORT}'

    def inside(self, host, command):
        """The command as it runs on the host."""
        if self.loopback:
            return list(command)
        enter = f'hostname {host} && mount --bind {shlex.quote(os.path.join(self.folder, host))}.boot /proc/sys/kernel/random/boot_id && exec "$@"'
        return ['nsenter', f'--net=/run/netns/{self.prefix}{host}', 'unshare', '--uts', '--mount', 'sh', '-c', enter, 'sh', *command]

    def start(self, command, **more):
        p = subprocess.Popen(command, start_new_session=True, text=True, **more)
        self.running.append(p)
        return p


class Run:
    """A client and its nodes. record: 'each', 'all' or None; options of processes by host, those of every node as 'nodes'."""

    def __init__(self, hosts, objstore, weir=None, record='each', record_args=(), options=None, truth=True):
        self.hosts, self.objstore, self.weir, self.record_args = hosts, os.path.abspath(objstore), weir and os.path.abspath(weir), list(record_args)
        self.options = options or {}
        self.keep_truth = truth
        self.status, self.said, self.errors, self.traces = {}, {}, {}, []
        if record == 'all':
            self.run_all()
        else:
            self.run_each(recorded=record == 'each')
        said = [json.loads(line) for out in self.said.values() for line in out.splitlines() if line.startswith('{')]
        self.result = next((s for s in said if 'puts' in s), None)
        self.cpu = sum(s['cpu'] for s in said)  # seconds of all four processes
        self.truth = {h: self.read_truth(h) for h in HOSTS} if truth and self.good() else {}

    def path(self, name):
        return os.path.join(self.hosts.folder, name)

    def read_truth(self, host):
        with open(self.path(f'{host}.json'), encoding='utf-8') as f:
            return json.load(f)

    def command(self, host):
        """That of the store's process on a host, without its recorder."""
        h = self.hosts
        args = [self.objstore, 'client' if host == 'client' else 'node', '--name', host, '--limit', str(LIMIT_S)]
        if self.keep_truth:
            args += ['--truth', self.path(f'{host}.json')]
        following = {'client': 'n1', 'n1': 'n2', 'n2': 'n3'}.get(host)
        if following:
            args += ['--next', h.address(following)]
        if host != 'client':
            args += ['--listen', h.address(host), '--dir', self.path(host), *self.options.get('nodes', ())]
        return args + list(self.options.get(host, ()))

    def record(self, name, command):
        self.traces.append(self.path(f'{name}.weir'))
        return [self.weir, 'record', '-q', '-o', self.traces[-1], *self.record_args, '--', *command]

    def run_each(self, recorded):
        h, started = self.hosts, {}
        for host in (*reversed(NODES), 'client'):
            if host == 'client':  # a node that is not there yet would be asked again and again
                for node in NODES:
                    if started[node].stdout.readline() != 'ready\n':
                        raise RuntimeError(f'{node} did not start: {self.error_of(node)}')
            command = self.command(host)
            with open(self.path(f'{host}.err'), 'w', encoding='utf-8') as err:
                started[host] = h.start(h.inside(host, self.record(host, command) if recorded else command), stdout=subprocess.PIPE, stderr=err)
        self.traces.sort()
        for host in HOSTS:  # the client ends first, and stops the others
            self.said[host] = started[host].communicate(timeout=LIMIT_S + 10)[0]
            self.status[host] = started[host].returncode
            self.errors[host] = self.error_of(host)

    def run_all(self):
        """One recorder, whose command starts all of them."""
        h = self.hosts
        lines = [shlex.join(h.inside(host, self.command(host))) + ' &' for host in reversed(NODES)]
        lines += [shlex.join(h.inside('client', self.command('client'))), 'status=$?', 'wait', 'exit $status']
        with open(self.path('all.err'), 'w', encoding='utf-8') as err:
            p = h.start(self.record('all', ['sh', '-c', '\n'.join(lines)]), stdout=subprocess.PIPE, stderr=err)
        self.said['client'] = p.communicate(timeout=LIMIT_S + 10)[0]
        self.status['all'], self.errors['all'] = p.returncode, self.error_of('all')

    def error_of(self, name):
        with open(self.path(f'{name}.err'), encoding='utf-8') as f:
            return f.read()

    def good(self):
        return not any(self.status.values()) and self.result is not None

    def why(self):
        return [self.status, self.errors, self.said]
