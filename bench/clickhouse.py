#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ten questions of the query language, and loading, over ClickHouse: `weir query -i clickhouse://...` against SQL written by hand
over the same tables. Both alternate, measured in CPU time of the server and of the client, which other load does not increase
much; the least of the runs counts. Starts its own server."""
import argparse
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

SERVERS = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server']
CONFIG = """<yandex><logger><level>warning</level><log>{0}/log</log><errorlog>{0}/errors</errorlog></logger><http_port>{1}</http_port>
<tcp_port>{2}</tcp_port><listen_host>127.0.0.1</listen_host><path>{0}/data/</path><tmp_path>{0}/tmp/</tmp_path>
<user_files_path>{0}/files/</user_files_path><users_config>{0}/users.xml</users_config><default_profile>default</default_profile>
<default_database>default</default_database><mark_cache_size>268435456</mark_cache_size></yandex>"""
USERS = """<yandex><profiles><default/></profiles><users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile>
<quota>default</quota></default></users><quotas><default/></quotas></yandex>"""


def questions(hosts):
    """Each question, and SQL for it. An id is unique within a recording, so that of several machines the SQL joins and groups by both."""
    r = 'recording, ' if hosts > 1 else ''
    file = f'SELECT {r}assumeNotNull(id) AS file, any(path) AS path FROM file GROUP BY {r}id'
    thread = f'SELECT {r}assumeNotNull(id) AS thread, any(comm) AS comm, any(process_id) AS process FROM thread GROUP BY {r}id'
    of = 'isNotNull(file_id) AND (recording, assumeNotNull(file_id))' if r else 'file_id'
    named = f"{of} IN (SELECT {r}assumeNotNull(id) FROM file WHERE path"
    slowest = f'SELECT {r}start, dur, op, assumeNotNull(thread_id) AS thread, assumeNotNull(file_id) AS file FROM op ORDER BY dur DESC LIMIT 100'
    return [
        ('count with a filter', 'where dur > 100us && op in (read, pread64) | count()',
         "SELECT count() FROM op WHERE dur > 100000 AND op_code IN (0, 17)"),
        ('by op: sum, p99', 'by op | count(), sum(bytes), p99(dur)',
         'SELECT any(op), count(), sum(bytes), quantile(0.99)(dur) FROM op GROUP BY op_code ORDER BY count() DESC'),
        ('by thread and op', 'by thread, op | count(), sum(dur)',
         f'SELECT {r}comm, op_code, n, t FROM (SELECT {r}assumeNotNull(thread_id) AS thread, op_code, count() AS n, sum(dur) AS t FROM op '
         f'GROUP BY {r}thread_id, op_code) ANY LEFT JOIN ({thread}) USING {r}thread ORDER BY n DESC'),
        ('by file, top 20', 'by file | count(), sum(bytes) as b | sort b desc | head 20',
         f'SELECT {r}path, n, b FROM (SELECT {r}assumeNotNull(file_id) AS file, count() AS n, sum(bytes) AS b FROM op GROUP BY {r}file_id '
         f'ORDER BY b DESC LIMIT 20) ANY LEFT JOIN ({file}) USING {r}file ORDER BY b DESC'),
        ('heat map', 'by bucket(stop, 100ms) as t, log2(dur) as d | count()',
         'SELECT intDiv(ended, 100000000) AS t, floor(log2(dur)) AS d, count() FROM op GROUP BY t, d ORDER BY t, d'),
        ('per 100 ms by op', 'by op every 100ms | rate()',
         'SELECT intDiv(ended, 100000000) AS t, op_code, count() * 10 FROM op GROUP BY t, op_code ORDER BY t, op_code'),
        ('path glob', 'where path ~ "/tmp/rocksdb/*.sst" | count(), sum(bytes)',
         f"SELECT count(), sum(bytes) FROM op WHERE {named} LIKE '/tmp/rocksdb/%.sst')"),
        ('slowest 100', 'select start, dur, comm, op, path | sort dur desc | head 100',
         f'SELECT start, dur, comm, op, path FROM (SELECT {r}start, dur, op, comm, file FROM ({slowest}) ANY LEFT JOIN ({thread}) USING {r}thread) '
         f'ANY LEFT JOIN ({file}) USING {r}file'),
        ('files per process', 'by process | distinct(file)',
         f'SELECT {r}process, uniq(file) FROM (SELECT {r}assumeNotNull(thread_id) AS thread, file_id AS file FROM op GROUP BY {r}thread_id, '
         f'file_id) ANY LEFT JOIN ({thread}) USING {r}thread GROUP BY {r}process'),
        ('needle', 'where path == "/tmp/rocksdb/000025.sst" | count(), max(dur)',
         f"SELECT count(), max(dur) FROM op WHERE {named} = '/tmp/rocksdb/000025.sst')"),
    ]


def ports(count):
    taken = [socket.socket() for _ in range(count)]
    for s in taken:
        s.bind(('127.0.0.1', 0))
    numbers = [s.getsockname()[1] for s in taken]
    for s in taken:
        s.close()
    return numbers


class Server:
    def __init__(self, folder):
        self.http, tcp = ports(2)
        for name, text in (('config.xml', CONFIG.format(folder, self.http, tcp)), ('users.xml', USERS)):
            with open(os.path.join(folder, name), 'w', encoding='utf-8') as f:
                f.write(text)
        program = next(p for p in SERVERS if os.access(p, os.X_OK))
        self.process = subprocess.Popen([program, f'--config-file={folder}/config.xml'], cwd=folder, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        self.address = f'clickhouse://127.0.0.1:{self.http}/weir'
        for _ in range(600):
            try:
                self.ask('SELECT 1', 'default')
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError('clickhouse-server does not answer')

    def ask(self, sql, database='weir'):
        with urllib.request.urlopen(f'http://127.0.0.1:{self.http}/?database={database}', sql.encode()) as answer:
            return answer.read().decode()

    def cpu(self):
        with open(f'/proc/{self.process.pid}/stat', encoding='utf-8') as f:
            cells = f.read().rsplit(') ', 1)[1].split()
        return (int(cells[11]) + int(cells[12])) / os.sysconf('SC_CLK_TCK')

    def rest(self):
        """Waits until no merge is running."""
        quiet = 0
        while quiet < 5:
            quiet = quiet + 1 if self.ask('SELECT count() FROM system.merges') == '0\n' else 0
            time.sleep(0.2)


def children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(server, what):
    """CPU of the server, CPU of the client, and elapsed time."""
    before, own, at = server.cpu(), children(), time.monotonic()
    what()
    return server.cpu() - before, children() - own, time.monotonic() - at


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('weir')
    parser.add_argument('--rows', type=int, default=6000000)
    parser.add_argument('--hosts', type=int, default=1, help='so many machines recorded the rows, each its part (default 1)')
    parser.add_argument('--runs', type=int, default=5)
    parser.add_argument('--json', action='store_true')
    options = parser.parse_args()
    result = {'rows': options.rows, 'hosts': options.hosts, 'questions': {}}
    with tempfile.TemporaryDirectory(prefix='weir-click-') as folder:
        traces = [os.path.join(folder, f'host{i}.weir') for i in range(options.hosts)]
        for i, trace in enumerate(traces):
            subprocess.run([options.weir, 'synth', '-q', '-o', trace, '--rows', str(options.rows // options.hosts), '--seed', str(7 + i),
                            '--host', f'host{i}'], check=True)
        server = Server(folder)
        try:
            there, own, took = measure(server, lambda: subprocess.run([options.weir, 'load', '-q', '--to', server.address, *traces], check=True))
            result['load'] = {'us_server': there / options.rows * 1e6, 'us_weir': own / options.rows * 1e6, 'seconds': took}
            server.rest()
            size = server.ask("SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND database = 'weir'")
            result['bytes_a_call'] = int(size) / options.rows
            for name, asked, sql in questions(options.hosts):
                ours, theirs = [], []
                for _ in range(options.runs):
                    ours.append(measure(server, lambda q=asked: subprocess.run([options.weir, 'query', '--csv', '--memory', '4GiB', '-i', server.address, q], check=True,
                                                                             stdout=subprocess.DEVNULL)))
                    theirs.append(measure(server, lambda q=sql: server.ask(q)))
                cpu = [min(a + b for a, b, _ in side) for side in (ours, theirs)]
                clock = [min(c for _, _, c in side) for side in (ours, theirs)]
                result['questions'][name] = {'weir': cpu[0], 'sql': cpu[1], 'clock_weir': clock[0], 'clock_sql': clock[1],
                                             'weir_alone': min(b for _, b, _ in ours)}
        finally:
            server.process.kill()
            server.process.wait()
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        return
    load = result['load']
    print(f'loading  {load["us_weir"]:.2f} us a call in weir, {load["us_server"]:.2f} in the server, {result["bytes_a_call"]:.1f} B a call on disk')
    print(f'{"question":24}{"weir":>9}{"of it own":>11}{"SQL":>9}{"ratio":>8}{"by the clock":>22}')
    for name, q in result['questions'].items():
        print(f'{name:24}{q["weir"]:8.2f}s{q["weir_alone"]:10.2f}s{q["sql"]:8.2f}s{q["weir"] / max(q["sql"], 0.01):8.2f}'
              f'{q["clock_weir"]:10.2f}s{q["clock_sql"]:8.2f}s{q["clock_weir"] / q["clock_sql"]:6.2f}')


main()
