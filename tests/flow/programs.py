#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""programs.py WEIR PROGRAM MODE: real programs that move data between processes: a pipeline, rsync, Redis and PostgreSQL with a replica, nginx
in front of another. Each does its work well: no verdict may be made of it, whatever it edits, caches or sends on; the edges
are there; with bytes, all that was written first is found in its last place. TAP on standard output."""
import collections
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402

weir, program, mode = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3]
SERVERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'cases', 'servers.sh')
tap = Tap()

FILES = 'i=0; while [ $i -lt 20 ]; do head -c $((30000 + i * 1000)) /dev/urandom > {}$i{}; i=$((i + 1)); done\n'
# then a second time, when two of them have changed
CHANGE = 'dd if=/dev/urandom of=src/file3 bs=1000 seek=5 count=1 conv=notrunc status=none; echo more >> src/file4\n'
PIPELINE = '''
awk 'BEGIN { for (i = 0; i < 20000; i++) print "line", i * 7919 % 20011, "of the input" }' > f
cat f | tr a-z A-Z | sort > g
cat f | tee copy | wc -c > n
'''
RSYNC = 'mkdir src dst\n' + FILES.format('src/file', '') + 'rsync -a src/ dst/\n' + CHANGE + 'rsync -a --no-whole-file --checksum src/ dst/\n'
DAEMON = 'mkdir src dst\n' + FILES.format('src/file', '') + '''
free_port
cat >rsyncd.conf <<END
use chroot = no
pid file = $PWD/rsyncd.lock
uid = $(id -u)
gid = $(id -g)
[dst]
path = $PWD/dst
read only = no
END
rsync --daemon --no-detach --address=127.0.0.1 --port=$(cat port) --config=$PWD/rsyncd.conf & echo $! >rsync.pid
await rsync rsync://127.0.0.1:$(cat port)/
rsync -a src/ rsync://127.0.0.1:$(cat port)/dst/
''' + CHANGE + 'rsync -a --checksum src/ rsync://127.0.0.1:$(cat port)/dst/\n'
# values are read more than once, and in another order, over one connection each
REDIS = '''
free_port; A=$(cat port); free_port; B=$(cat port)
ln -sf $(command -v redis-check-rdb) redis-server
mkdir a b
./redis-server --port $A --dir $PWD/a --save '' --appendonly yes --repl-diskless-sync-delay 0 >a.out 2>&1 & echo $! >a.pid
await grep -q 'eady to accept' a.out
./redis-server --port $B --dir $PWD/b --save '' --appendonly yes --replicaof 127.0.0.1 $A >b.out 2>&1 & echo $! >b.pid
await sh -c "redis-cli -p $B info replication | grep -q link_status:up"
await grep -q 'Background AOF rewrite finished' b.out
i=0; while [ $i -lt 30 ]; do head -c 3000 /dev/urandom | base64 -w0 | redis-cli -p $A -x set key$i >/dev/null; i=$((i + 1)); done
redis-cli -p $A wait 1 2000 >/dev/null
for k in 7 7 5 3 9 9; do echo GET key$k; done | redis-cli -p $A >/dev/null
i=0; while [ $i -lt 28 ]; do echo GET key$i; i=$((i + 1)); done | redis-cli -p $A >/dev/null
await sh -c "[ \\$(cat b/appendonlydir/*.incr.aof | wc -c) -gt 120000 ]"
'''
# passed on; stored in the cache, and passed on; from the cache
NGINX = '''
free_port; A=$(cat port); free_port; B=$(cat port)
mkdir html tmp cache
''' + FILES.format('html/page', '.html') + '''
chmod -R 755 . html
for who in front back; do
	mkdir $who
	cat >$who.conf <<END
daemon off; $([ "$(id -u)" != 0 ] || echo 'user root root;') worker_processes 1; pid $PWD/$who.master; error_log $PWD/$who.log;
events { worker_connections 64; }
http { types { text/html html; } access_log off; root $PWD/html; proxy_cache_path $PWD/cache keys_zone=c:1m;
client_body_temp_path $PWD/$who/body; proxy_temp_path $PWD/$who/proxy; fastcgi_temp_path $PWD/$who/fastcgi;
uwsgi_temp_path $PWD/$who/uwsgi; scgi_temp_path $PWD/$who/scgi;
END
done
echo "sendfile on; server { listen 127.0.0.1:$B; } }" >>back.conf
echo "server { listen 127.0.0.1:$A; location / { proxy_pass http://127.0.0.1:$B; }
	location /c/ { proxy_cache c; proxy_cache_valid 200 10m; proxy_pass http://127.0.0.1:$B/; } } }" >>front.conf
for who in front back; do
	nginx -p $PWD -e $PWD/$who.log -c $PWD/$who.conf >$who.out 2>&1 & echo $! >$who.pid
	await test -s $who.master
done
curl -s -o 'page#1' "http://127.0.0.1:$A/page[0-19].html"
curl -s -o 'stored#1' "http://127.0.0.1:$A/c/page[0-19].html"
curl -s -o 'cached#1' "http://127.0.0.1:$A/c/page[0-19].html"
cmp html/page7.html page7; cmp html/page7.html cached7
'''
POSTGRES = '''
postgres_make
free_port
cat >>db/postgresql.conf <<END
port = $(cat port)
listen_addresses = '127.0.0.1'
END
postgres_start
run() { psql -qAt -h "$PWD" -p $(cat port) -U weir postgres "$@"; }
run -c "create table t(n int primary key, x text); select pg_create_physical_replication_slot('s')" >/dev/null
(as_user pg_basebackup -h 127.0.0.1 -p $(cat port) -U weir -D db2 -R -S s -c fast) >backup.out 2>&1
sed -i "s/^port.*//; s/^listen_addr.*//" db2/postgresql.conf
mkdir -m 777 second
printf "listen_addresses = ''\\nunix_socket_directories = '$PWD/second'\\n" >>db2/postgresql.conf
as_user postgres -D db2 >postgres2.out 2>&1 &
echo $! >postgres2.pid
await grep -q 'started streaming' postgres2.out
i=0; while [ $i -lt 20 ]; do i=$((i + 1)); echo "insert into t values($i, '$(head -c 700 /dev/urandom | base64 -w0)');"; done | run
run -c checkpoint
await sh -c "[ \\$(psql -qAt -h $PWD/second -U weir postgres -c 'select count(*) from t') = 20 ]"
psql -q -h "$PWD/second" -U weir postgres -c checkpoint
'''
SIZES = [30000 + i * 1000 for i in range(20)]
HEAD = 'comm == "head" && op == "write"'
# needs; script; kinds of edges that must be there; what to follow; a part of the path in which it must arrive; how much of it
PROGRAMS = {
    'pipeline': ('awk', PIPELINE, 'fork exec join pipe storage', 'comm == "awk" && op == "write"', '/copy', None),
    'rsync': ('rsync', RSYNC, 'fork exec join stream storage publish', HEAD, '/dst/file', sum(SIZES)),
    'rsyncd': ('rsync', DAEMON, 'fork exec join connect stream storage publish', HEAD, '/dst/file', sum(SIZES)),
    'redis': ('redis-check-rdb', REDIS, 'fork exec join connect stream pipe storage', 'comm == "redis-cli" && op == "sendto" && bytes > 3000', '/b/',
              30 * 4000),
    'nginx': ('nginx', NGINX, 'fork exec connect stream storage', HEAD, '/page', sum(SIZES)),
    'postgres': ('/usr/lib/postgresql', POSTGRES, 'fork exec join connect stream pipe storage publish sync',
                 'comm == "psql" && op == "sendto" && bytes > 900', '/db2/pg_wal/', 20 * 930),
}
needs, script, vias, roots, last, size = PROGRAMS[program]
if not (os.path.exists(needs) or shutil.which(needs, path=os.environ['PATH'] + ':/usr/sbin')):
    tap.skip(program, f'needs {needs}')
    sys.exit(tap.end())
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o777)
    with open(f'{folder}/run.sh', 'w', encoding='utf-8') as f:
        f.write(f'set -eu\n. {SERVERS}\ntrap servers_end EXIT\n{script}\nservers_end\n')
    r = subprocess.run([weir, 'record', f'--content={mode}', '--lossless', '--ring', '16MiB', '-q', '-o', 't.weir', '--', 'sh', 'run.sh'], cwd=folder, timeout=120,
                       check=False, capture_output=True, text=True)
    tap.check(f'{program} did its work', r.returncode == 0, r.stdout, r.stderr)
    r = subprocess.run([weir, 'flow', 't.weir', '--json', '--of', roots], cwd=folder, check=True, timeout=120, capture_output=True, text=True)
    size = os.path.getsize(f'{folder}/f') if size is None else size
document = json.loads(r.stdout)
tables = {name: table['rows'] for name, table in document['tables'].items()}
tap.none(f'{program}, {mode}: no verdict of a healthy run', document['rows'])
certain = {row['via']: row['certain'] or 0 for row in tables['edges']}
tap.none(f'edges: {vias}', [f'{via}: {certain}' for via in vias.split() if not certain.get(via)])
contested = {row['via']: row['contested'] for row in tables['edges'] if (row['contested'] or 0) * 20 > (row['certain'] or 0)}
tap.none('few streams and pipes are contested', [f'{k}: {n}' for k, n in contested.items() if k in ('stream', 'pipe', 'connect', 'storage')])
tap.check('nothing contradicts', not document['contradictions'] and not document['cycles'], document['contradictions'], document['cycles'])
if mode == 'bytes':
    found = collections.Counter()
    for row in tables['tree']:
        if last in (row['file'] or '') and 'write' in row['call'] and row['via'] == 'content':
            found[row['file']] += row['bytes']
    lost = document['content']['lost']  # of it nothing can be followed
    tap.check(f'{size} bytes are followed to {last}: {sum(found.values())}', sum(found.values()) >= size * 0.99 - lost, found, document['content'])
sys.exit(tap.end())
