#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""deploy.py WEIR TOOLS DEPLOY UNIT...: what deploy/ ships is well-formed, rendered and, where it can, run: the units under systemd
as the first process of a container, the recorder with the capabilities that Compose and Helm give it. TOOLS is what
tools/deploy-tools made. Speaks TAP."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

WEIR, TOOLS, DEPLOY, *UNITS = map(os.path.realpath, sys.argv[1:])
UNITS = [u for u in UNITS]
HELM, CHART = os.path.join(TOOLS, 'bin', 'helm'), os.path.join(DEPLOY, 'helm', 'weir')
COMPOSE, ROLE = os.path.join(DEPLOY, 'compose', 'compose.yaml'), os.path.join(DEPLOY, 'ansible')
KUBE = '1.34'
EXPOSURE_MAX = {'weir-record.service': 20, 'weir-load.service': 16}  # tenths, of systemd-analyze security
BOOT_S = 30
# what bin/helm needs of a chart's values to render each of its branches
VALUES = {
    'as it is': [],
    'a store elsewhere': ['--set', 'load.to=opensearch://search/weir?tls=1,load.existingSecret=mine,priorityClassName=high'],
    'options': ['--set', 'record.args={--where,dur > 1ms && comm == "a b"},clickhouse.password=p,clickhouse.storageClass=fast'],
}
tap = Tap()


def run(*args, **more):
    return subprocess.run(args, capture_output=True, text=True, timeout=300, **more)


def venv(name):
    return os.path.join(TOOLS, 'venv', 'bin', name)


def said(done):
    return done.stdout + done.stderr


def checked(name, *args, needs=None, **more):
    """A program that finds nothing wrong; what it printed."""
    if not shutil.which(needs or args[0]):
        tap.skip(name, f'no {os.path.basename(needs or args[0])}: tools/deploy-tools installs it')
        return None
    done = run(*args, **more)
    tap.check(name, done.returncode == 0, said(done))
    return done.stdout if done.returncode == 0 else None


def yaml_of(text):
    """YAML as Python's values, by the library of the linters: this Python need not have one."""
    done = run(venv('python'), '-c', 'import json,sys,yaml\nprint(json.dumps(list(yaml.safe_load_all(sys.stdin))))', input=text)
    return json.loads(done.stdout)


# ---- units ----

def read(path):
    with open(path, encoding='utf-8') as f:
        return f.read()


def check_units(folder):
    if not shutil.which('systemd-analyze'):
        tap.skip('units', 'no systemd-analyze')
        return
    for path in UNITS:
        name = os.path.basename(path)
        copy = os.path.join(folder, name)
        with open(copy, 'w', encoding='utf-8') as f:
            f.write(re.sub(r'^(ExecStart=)\S+', rf'\g<1>{WEIR}', read(path), flags=re.M))
        done = run('systemd-analyze', 'verify', '--man=no', copy)
        wrong = [line for line in said(done).splitlines() if name in line]
        tap.none(f'{name} is well-formed', wrong)
        done = run('systemd-analyze', 'security', '--offline=true', f'--threshold={EXPOSURE_MAX[name]}', '--no-pager', copy)
        last = (done.stdout.strip().splitlines() or [''])[-1]
        tap.check(f'{name} is hardened', done.returncode == 0, last, done.stderr)


BOOT = r'''
set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$1"
mkdir "$1"/up "$1"/work "$1"/root
mount -t overlay overlay -o "lowerdir=/,upperdir=$1/up,workdir=$1/work" "$1"/root
cd "$1"/root
mount -t proc proc proc
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount --rbind /dev dev
mount --rbind /sys sys
umount -R sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
rm -rf etc/systemd/system var/lib/weir var/lib/private/weir etc/weir
mkdir -p etc/systemd/system etc/weir usr/local/lib/weir-test
cp "$3" usr/local/lib/weir-test/weir
for unit in "$2"/*.service "$2"/*.target; do cp "$unit" etc/systemd/system; done
[ ! -e "$2"/load.conf ] || cp "$2"/load.conf etc/weir
mkdir -p "$1"/out && mount --bind "$4" "$1"/root/mnt
exec chroot . env -i container=weir-test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --unit=weir-test.target --log-target=console --log-level=info
'''
SERVER = '''<yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/err</errorlog></logger>
<listen_host>127.0.0.1</listen_host><http_port>{1}</http_port><path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<users_config>{0}/users.xml</users_config><mark_cache_size>5368709</mark_cache_size><default_profile>default</default_profile>
<default_database>default</default_database></yandex>'''
USERS = '''<yandex><profiles><default/></profiles><quotas><default/></quotas><users><weir><password>secret</password><networks>
<ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></weir></users></yandex>'''


class ClickHouse:
    """Debian's server, in a folder and at a port of its own."""

    def __init__(self, folder):
        with socket.socket() as s:
            s.bind(('127.0.0.1', 0))
            self.port = s.getsockname()[1]
        os.mkdir(folder)
        write(folder, 'users.xml', USERS)
        with open(os.path.join(folder, 'out'), 'w', encoding='utf-8') as out:
            self.process = subprocess.Popen(['clickhouse-server', '--config-file=' + write(folder, 'config.xml', SERVER.format(folder, self.port))],
                                            stdout=out, stderr=out, cwd=folder)
        for _ in range(100):
            if self.ask('select 1') == '1':
                break
            time.sleep(0.1)

    def ask(self, sql):
        request = urllib.request.Request(f'http://127.0.0.1:{self.port}/', data=sql.encode(),
                                         headers={'X-ClickHouse-User': 'weir', 'X-ClickHouse-Key': 'secret'})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.read().decode().strip()
        except OSError as e:
            return str(e)

    def end(self):
        self.process.terminate()
        self.process.wait()


# What the container does once the recorder runs: looks at it, works, restarts it and looks again.
LOOK = r'''
exec >/mnt/look 2>&1
weir=/usr/local/lib/weir-test/weir
for i in $(seq 50); do [ ! -e /var/lib/weir/host.trace.1 ] || break; sleep 0.2; done
sleep 1
pid=$(systemctl show -P MainPID weir-record)
grep -E '^(Uid|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/$pid/status
for i in $(seq 400); do cat /etc/hostname >/tmp/work.$i; done
sleep 1
[ ! -e /etc/weir/load.conf ] || for i in $(seq 50); do
	[ "$(systemctl show -P MainPID weir-load)" = 0 ] || break
	sleep 0.2
done
sleep 0.5
echo loader
grep -E '^(Uid|CapEff|CapBnd):' /proc/$(systemctl show -P MainPID weir-load)/status
echo restart
systemctl restart weir-record
echo restarted $?
for i in $(seq 50); do [ ! -e /var/lib/weir/host.trace.old.1 ] || [ ! -e /var/lib/weir/host.trace.1 ] || break; sleep 0.2; done
sleep 2
for i in $(seq 400 499); do cat /etc/hostname >/tmp/work.$i; done
sleep 2
systemctl stop weir-record
echo state $(systemctl show -P Result,ExecMainStatus,NRestarts weir-record)
ls -l /var/lib/private/weir /var/lib/weir/
sleep 4
cp -r /var/lib/private/weir /mnt/traces
echo done
'''


def write(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)
    return path


def booted(folder, look, load=''):
    """Boots systemd with the units in a container, until look is done. What it wrote."""
    units, out, root = (os.path.join(folder, n) for n in ('units', 'out', 'root'))
    for d in (units, out, root):
        os.mkdir(d)
    for path in UNITS:
        name = os.path.basename(path)
        text = re.sub(r'^(ExecStart=)\S+', r'\g<1>/usr/local/lib/weir-test/weir', read(path), flags=re.M)
        write(units, name, text.replace('[Service]', f'[Service]\nStandardError=append:/mnt/{name}.err'))
    write(units, 'weir-test.target', '[Unit]\nWants=weir-record.service weir-load.service look.service\n')
    if load:
        write(units, 'load.conf', load)
    write(units, 'look.service', '[Unit]\nAfter=weir-record.service\n[Service]\nExecStart=/bin/sh /mnt/look.sh\n')
    write(out, 'look.sh', look)
    boot = write(folder, 'boot.sh', BOOT)
    with open(os.path.join(out, 'console'), 'w', encoding='utf-8') as console:
        p = subprocess.Popen(['unshare', '--pid', '--fork', '--kill-child', '--mount', '--cgroup', '--uts', '--ipc', 'sh', boot, root,
                              units, WEIR, out], stdin=subprocess.DEVNULL, stdout=console, stderr=console)
        before = time.monotonic()
        text = ''
        while time.monotonic() - before < BOOT_S and p.poll() is None and not text.endswith('done\n'):
            time.sleep(0.3)
            text = read(os.path.join(out, 'look')) if os.path.exists(os.path.join(out, 'look')) else ''
        p.kill()
        p.wait()
    return out, text


def check_container(folder):
    if not os.path.exists('/lib/systemd/systemd') or not shutil.which('unshare'):
        tap.skip('the recorder under systemd', 'no systemd')
        return
    server = ClickHouse(os.path.join(folder, 'clickhouse')) if shutil.which('clickhouse-server') else None
    try:
        conf = f'WEIR_LOAD_TO=clickhouse://127.0.0.1:{server.port}/weir\nWEIR_USER=weir\nWEIR_PASSWORD=secret\n' if server else ''
        check_booted(*booted(folder, LOOK, conf), server)
    finally:
        if server:
            server.end()


def check_booted(out, text, server):
    if 'done' not in text and 'cgroup2' in read(os.path.join(out, 'console')):
        tap.skip('the recorder under systemd', 'no control groups of version 2 to mount here')
        return
    tap.check('systemd runs the recorder in a container', text.endswith('done\n'), text, read(os.path.join(out, 'console'))[-1500:])
    uid = re.search(r'^Uid:\t(\d+)', text, re.M)
    tap.check('by a user of its own', uid and 61184 <= int(uid[1]) <= 65519, text)
    tap.check('with its capabilities out of force, and no new ones', re.search(r'CapEff:\t0+$', text, re.M) and 'NoNewPrivs:\t1' in text, text)
    tap.check('it is started again', 'restarted 0' in text and re.search(r'^state success', text, re.M), text)
    tap.check('in a folder that nobody else reads', re.search(r'-rw------- ', text) and not re.search(r'-rw-..?r', text), text)
    for base, least, most in (('host.trace.old', 400, 400), ('host.trace', 100, 100)):
        files = [os.path.join(out, 'traces', f) for f in sorted(os.listdir(os.path.join(out, 'traces'))) if re.fullmatch(re.escape(base) + r'\.\d+', f)]
        asked = run(WEIR, 'query', '--csv', *(a for f in files for a in ('-i', f)),
                    "where op == openat && comm == \"cat\" && path ~ '**/hostname' | count()")
        count = int((asked.stdout.splitlines() or ['-1'])[-1] or -1)
        tap.check(f'{base}: every file that was opened, once', least <= count <= most, f'{count} of {least}', asked.stderr)
    if not server:
        tap.skip('what was recorded is loaded', 'no clickhouse-server')
        return
    everything = run(WEIR, 'query', '--csv', '-i', os.path.join(out, 'traces'), 'count()').stdout.splitlines()
    loaded = server.ask('select count() from weir.op')
    tap.check('what was recorded is loaded, all of it, by a unit without privileges', everything[1:] == [loaded], everything, loaded,
              read(os.path.join(out, 'weir-load.service.err'))[-1000:])
    tap.check('the loader has no capability', re.search(r'loader\n.*\nCapEff:\t0+\nCapBnd:\t0+\n', text), text)


def check_removed(folder):
    """Files that the recorder removes before anybody loads them."""
    if not shutil.which('clickhouse-server'):
        tap.skip('files that were removed first are reported', 'no clickhouse-server')
        return
    server = ClickHouse(os.path.join(folder, 'clickhouse2'))
    trace = os.path.join(folder, 'ring.trace')
    try:
        run(WEIR, 'record', '-q', '--rotate', '100ms', '--keep', '2', '-o', trace, '--', 'sh', '-c',
            'for i in 1 2 3 4 5 6 7 8 9; do cat /etc/hostname >/dev/null; sleep 0.1; done', cwd=folder)
        first = min(int(f.rsplit('.', 1)[1]) for f in os.listdir(folder) if re.fullmatch(r'ring\.trace\.\d+', f))
        to = f'clickhouse://127.0.0.1:{server.port}/removed'
        env = dict(os.environ, WEIR_USER='weir', WEIR_PASSWORD='secret')
        said_first, said_again = (run(WEIR, 'load', '--follow', '--to', to, trace, env=env).stderr for _ in range(2))
        told = re.search(r'removed (\d+) files before they were loaded', said_first)
        tap.check('files that were removed first are reported', first > 1 and told and int(told[1]) == first - 1, first, said_first)
        tap.check('once', 'removed' not in said_again and 'loaded 0 calls' in said_again, said_again)
    finally:
        server.end()


# ---- Compose, Helm, the image, Ansible ----

def check_capabilities(name, caps, args, folder):
    """Records with these capabilities as root in a container has them."""
    wanted = ','.join('+' + c.lower() for c in caps)
    trace = os.path.join(folder, name + '.trace')
    args = [trace if a.endswith('host.trace') else a for a in args]
    if not shutil.which('setpriv'):
        tap.skip(f'{name}: the recorder works', 'no setpriv')
        return
    done = run('setpriv', f'--inh-caps=-all', f'--bounding-set=-all,{wanted}', '--no-new-privs', WEIR, *args, '--duration', '1s')
    tap.check(f'{name}: the recorder works with the capabilities that it is given', done.returncode == 0, said(done))
    report = run(WEIR, 'report', '-i', trace + '.1')
    tap.check(f'{name}: and loses nothing', re.search(r'lost 0\b', report.stdout), said(report)[:500])


def check_compose(folder):
    checked('the Compose file is valid', venv('check-jsonschema'), '--builtin-schema', 'vendor.compose-spec', COMPOSE)
    if not shutil.which(venv('python')):
        return
    model = yaml_of(read(COMPOSE))[0]
    mounts = [v for s in model['services'].values() for v in s.get('volumes', ())]
    lost = [m for m in mounts if m.startswith('.') and not os.path.exists(os.path.join(os.path.dirname(COMPOSE), m.split(':')[0]))]
    named = {m.split(':')[0] for m in mounts if not m.startswith('.')}
    tap.check('what it mounts is there', not lost and named == set(model['volumes']), lost, named)
    tap.check('only the recorder is given capabilities',
              [n for n, s in model['services'].items() if s.get('cap_add')] == ['record'] and not any(s.get('privileged') for s in model['services'].values()))
    record = model['services']['record']
    args = [re.sub(r'\$\{\w+:-(.*?)\}', r'\1', a) for a in record['command']]
    check_capabilities('Compose', record['cap_add'], args, folder)


def check_helm(folder):
    checked('the chart is well-formed', HELM, 'lint', '--strict', '--kube-version', KUBE, CHART)
    for name, values in VALUES.items():
        text = checked(f'the chart, {name}: rendered', HELM, 'template', 'w', CHART, '--kube-version', KUBE, '--namespace', 'weir', *values)
        if text is None:
            continue
        path = write(folder, 'rendered.yaml', text)
        checked(f'the chart, {name}: what Kubernetes takes', venv('kubernetes-validate'), '--strict', '--quiet', path)
        parts = {(d['kind'], d['metadata']['name']): d for d in yaml_of(text) if d}
        pod = parts['DaemonSet', 'w']['spec']['template']['spec']
        record, load = pod['containers']
        if not values:
            check_capabilities('Helm', record['securityContext']['capabilities']['add'], record['args'], folder)
        elif name == 'options':
            tap.check('options reach the recorder as they are', record['args'][-2:] == ['--where', 'dur > 1ms && comm == "a b"'], record['args'])
        else:
            tap.check('a store elsewhere needs no server here', {k for k, _ in parts} == {'DaemonSet'}, list(parts))
            tap.check('and its secret is the one that is there', load['env'][1]['valueFrom']['secretKeyRef'] == {'name': 'mine', 'key': 'password'})
    if shutil.which(HELM):
        for wrong, why in (('record.keep=1', 'keep'), ('load.to=http://x', 'load'), ('recod.keep=3', 'recod'), ('clickhouse.enabled=false', 'load.to')):
            done = run(HELM, 'template', 'w', CHART, '--kube-version', KUBE, '--set', wrong)
            tap.check(f'values that are wrong are refused: {wrong}', done.returncode and why in done.stderr, said(done)[:500])


def check_ansible(folder):
    env = dict(os.environ, PATH=venv('') + ':' + os.environ['PATH'], NO_COLOR='1', ANSIBLE_HOME=folder)
    checked('the role is well-formed', venv('ansible-lint'), '--offline', '--profile', 'production', needs=venv('ansible-lint'), cwd=ROLE, env=env)
    if not shutil.which(venv('ansible')):
        tap.skip('the role renders', 'no ansible: tools/deploy-tools installs it')
        return
    play = write(folder, 'play.yml', json.dumps([{
        'hosts': 'localhost', 'connection': 'local', 'gather_facts': False,
        'vars_files': [os.path.join(ROLE, 'roles/weir/defaults/main.yml')],
        'tasks': [{'ansible.builtin.template': {'src': os.path.join(ROLE, 'roles/weir/templates', t), 'dest': os.path.join(folder, t)}}
                  for t in ('record.conf.j2', 'load.conf.j2')]}]))
    given = {'weir_record_args': ['--where', 'dur > 1ms && comm ~ "a%$b"'], 'weir_load_to': 'clickhouse://store/weir?tls=1',
             'weir_load_user': 'weir', 'weir_load_password': 'a "b" \\ $c'}
    done = run(venv('ansible-playbook'), '-i', 'localhost,', '-e', json.dumps(given), '-e', f'ansible_python_interpreter={sys.executable}', play, env=env)
    tap.check('the role renders', done.returncode == 0, said(done)[-1500:])
    if done.returncode:
        return
    drop_in, conf = read(os.path.join(folder, 'record.conf.j2')), read(os.path.join(folder, 'load.conf.j2'))
    record = next(u for u in UNITS if 'record' in u)
    os.mkdir(os.path.join(folder, 'verified'))
    copy = write(os.path.join(folder, 'verified'), 'weir-record.service', read(record))
    os.mkdir(copy + '.d')
    write(copy + '.d', 'ansible.conf', drop_in.replace('/usr/bin/weir', WEIR))
    verify = run('systemd-analyze', 'verify', '--man=no', copy) if shutil.which('systemd-analyze') else None
    tap.none('the settings of the recorder are a unit', [] if not verify else [x for x in said(verify).splitlines() if 'weir-record' in x or 'ansible' in x])
    tap.check('with the options as they were given', r'"--where" "dur > 1ms && comm ~ \"a%%$$b\""' in drop_in, drop_in)
    tap.check('the password as it was given', 'WEIR_PASSWORD="a \\"b\\" \\\\ $c"' in conf, conf)


def main():
    folder = tempfile.mkdtemp(prefix='weir-deploy.', dir='/var/tmp')
    os.chmod(folder, 0o755)
    try:
        check_units(folder)
        checked('the image is well-formed', venv('hadolint'), os.path.join(DEPLOY, 'Dockerfile'))
        if os.geteuid():
            tap.skip('recorders', 'needs root to record')
        else:
            check_container(folder)
            check_removed(folder)
            check_compose(folder)
            check_helm(folder)
        check_ansible(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return tap.end()


sys.exit(main())
