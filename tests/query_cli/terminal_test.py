#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""terminal_test.py WEIR: `weir query` on a pseudo-terminal and on pipes: prompt, completion, follow, progress, Ctrl-C,
Parquet, JSON."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402
from terminal import Terminal, takes_signals  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
check = tap.check
folder = tempfile.mkdtemp(prefix='weir-query-')
env = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, 'state'), TMPDIR=folder)


def run(*args, **kw):
    return subprocess.run([weir, *args], capture_output=True, text=True, cwd=folder, env=env, timeout=60, **kw)


def query(text, *options, **kw):
    return run('query', text, '-i', 'a.trace', *options, **kw)


def terminal(*args, **kw):
    return Terminal([weir, *args], folder, env, **kw)


run('synth', '-q', '-o', 'a.trace', '--rows', '200000', '--seed', '3')
has_engine = 'is not installed' not in run('sql', '-i', 'a.trace', 'SELECT 1').stderr

# ---- where the text comes from
r = run('query', '-', '-i', 'a.trace', input='select op | head 2')
check('text from standard input', r.returncode == 0 and r.stdout.count('\n') == 3, r.stdout, r.stderr)
with open(os.path.join(folder, 'q'), 'w') as f:
    f.write('select op\n| head 2\n')
r = run('query', '-f', 'q', 'a.trace')
check('text from a file, over several lines', r.returncode == 0 and r.stdout.count('\n') == 3, r.stdout, r.stderr)
r = run('query', '-f', 'none', 'a.trace')
check('a file that is not there', r.returncode == 1 and 'none' in r.stderr and r.stderr.count('\n') == 1, r.stderr)
r = run('query', 'select nothing', stdin=subprocess.DEVNULL)
check('no trace', r.returncode == 1 and 'weir record' in r.stderr, r.stderr)

# ---- rows without the library
r = query('dur > 1ms | select start, dur, path', '--json', '--duckdb', '/nowhere')
doc = json.loads(r.stdout)
check('JSON of a scan, without the library', doc['columns'][1] == {'name': 'dur', 'type': 'int', 'unit': 'ns'}
      and all(row['dur'] > 1000000 and row['start'] >= 0 for row in doc['rows']) and len(doc['rows']) > 10
      and doc['loss']['events'] == 0, doc['columns'])
r = query('by op | count()', '--duckdb', '/nowhere')
check('what needs the library says so', r.returncode == 1 and '/nowhere' in r.stderr and r.stderr.count('\n') == 1, r.stderr)
p = subprocess.Popen(f'{weir} query "select op, path" -i a.trace | head -2', shell=True, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, cwd=folder, env=env)
out, err = p.communicate(timeout=30)
check('a reader that goes away, without complaint', out.count(b'\n') == 2 and err == b'', err)
t = terminal('query', 'select op, path', '-i', 'a.trace')
status = t.wait()
lines = t.output.decode().split('\r\n')
check('a terminal gets 50 rows and is told of the rest', len(lines) == 53 and 'head N' in lines[51] and status == 0, lines[-3:])

# ---- completion
def words(*line):
    return run('completion', '--words', '--', *line).stdout.split('\n')[:-1]


check('completes stages', 'where op == read | select' in words('query', 'where op == read | sel'), words('query', 'where op == read | sel'))
check('completes operations', 'op in (pread64' in words('query', 'op in (pre'), words('query', 'op in (pre'))
check('completes aggregates', any(w.startswith('by op | distinct') for w in words('query', 'by op | dist')), words('query', 'by op | dist'))
found = words('query', '-i', 'a.trace', 'comm == "redis')
check('completes values of the trace', 'comm == "redis-server"' in found, found)
found = words('query', '-i', 'a.trace', 'path ~ "/tmp/ro')
check('completes paths by folder', 'path ~ "/tmp/rocksdb/' in found, found)
check('knows nothing where there is nothing', words('query', '--json', 'nosuchname') == [], words('query', 'nosuchname'))

for line, want in ((('report', 'thr'), ['threads']), (('report', '--sort', 'p9'), ['p90', 'p99']), (('synth', '--profile', 'r'), ['redis', 'rocksdb']),
                   (('stat', '--by', ''), ['op', 'process', 'thread', 'file', 'error']), (('top', '--by', '=', 'fi'), ['file']),
                   (('record', '-e', 'openat,%fi'), ['openat,%file']), (('record', '-e', '!%net'), ['!%network', '!%net']),
                   (('help', 'rep'), ['report']), (('completion', 'f'), ['fish']), (('report', 'a.tr'), []), (('report', 'ops', 'fi'), []),
                   (('serve', 'f'), []), (('stat', '--by=fi'), ['--by=file']), (('report', '--where=class =', 'x', '--sort', 'p9'), ['p90', 'p99']),
                   (('query', '--csv', '--where=hostp'), ['--where=hostpath']), (('record', 'ls', '-e', 'op'), []), (('record', '--', 'ls', '-e', 'op'), [])):
    check('completes ' + ' '.join(line), words(*line) == want, words(*line))


def bash(*line):
    """What bash would offer for the last of the words, each as it is quoted for a shell."""
    script = f'eval "$({weir} completion bash)"; weir() {{ {weir} "$@"; }}; COMP_WORDS=(weir {" ".join(line)}); COMP_CWORD={len(line)}'
    r = subprocess.run(['bash', '-c', script + """; _weir; printf '%s\\n' "${COMPREPLY[@]}" """], capture_output=True, text=True, cwd=folder, check=False)
    return r.stdout.split('\n')[:-1]


found = bash('query', '-i', 'a.trace', """"'comm == \\"red\"""")
check('bash completes a value', found[:1] == ['comm == "redis-server"'], found)
found = bash('report', '""')
check('bash completes tables, and traces beside them', {'threads', 'a.trace'} <= set(found), found)

# ---- growing traces
grow = os.path.join(folder, 'grow.trace')
follower = None


def growing():
    """A trace that is written while others read it: the first part of one, then all of it."""
    with open(os.path.join(folder, 'a.trace'), 'rb') as f:
        whole = f.read()
    with open(grow, 'wb') as f:
        f.write(whole[:len(whole) // 2])
    return whole


whole = growing()
p = subprocess.Popen([weir, 'query', 'select op, dur', '--follow', '-i', grow], stdout=subprocess.PIPE, cwd=folder, env=env, bufsize=0,
                     stderr=subprocess.PIPE)
first = p.stdout.readline()
with open(grow, 'ab') as f:
    f.write(whole[len(whole) // 2:])
rest, err = p.communicate(timeout=60)
check('rows of a growing trace come until it ends', rest.count(b'\n') == 200000 and p.returncode == 0, rest.count(b'\n'), err)

if not has_engine:
    shutil.rmtree(folder)
    tap.skip('what the engine answers', 'DuckDB is not installed')
    sys.exit(tap.end())

whole = growing()
t = terminal('query', 'by class | count() as calls | sort calls desc', '--follow', '--every', '100ms', '-i', grow)
check('follow on a terminal draws', t.expect('calls') is not None, t.output)
check('and draws again in place', t.expect('\x1b[') is not None and t.expect('calls') is not None, t.output)
with open(grow, 'ab') as f:
    f.write(whole[len(whole) // 2:])
status = t.wait()
total = sum(int(n.replace(',', '')) for n in re.findall(r'^\w+ +([\d,]+)\x1b', re.sub(r'\x1b\[\d*m', '', t.output.decode().split('calls')[-1].replace('\r', '')), re.M))
check('until the trace ends, with all of it', status == 0 and total == 200000, total, t.output[-600:])
whole = growing()
p = subprocess.Popen([weir, 'query', 'count()', '--follow', '--every', '50ms', '--json', '-i', grow], stdout=subprocess.PIPE,
                     cwd=folder, env=env, stderr=subprocess.PIPE, bufsize=0)
docs = [json.loads(p.stdout.readline())]
with open(grow, 'ab') as f:
    f.write(whole[len(whole) // 2:])
rest, err = p.communicate(timeout=60)
docs += [json.loads(line) for line in rest.splitlines()]
counts = [d['rows'][0]['count'] for d in docs]
check('follow on a pipe: a document a line', counts[-1] == 200000 and counts == sorted(counts) and p.returncode == 0, counts, err)
growing()
p = subprocess.Popen([weir, 'query', 'count()', '--follow', '-i', grow], stdout=subprocess.PIPE, cwd=folder, env=env, bufsize=0,
                     stderr=subprocess.PIPE)
p.stdout.readline()
p.send_signal(signal.SIGINT)
check('Ctrl-C ends it: 130', p.wait(20) == 130)
p.communicate()

# ---- answers
r = query('by op | count(), sum(bytes), first(start), hist(dur) | sort count() desc', '--json')
doc = json.loads(r.stdout)
check('JSON of an answer', sum(row['count'] for row in doc['rows']) == 200000
      and all(sum(b[2] for b in row['hist(dur)']) == row['count'] for row in doc['rows'])
      and doc['columns'][4]['type'] == 'hist' and doc['columns'][4]['unit'] == 'ns', doc['columns'])
counts = {row['op']: row['count'] for row in doc['rows']}
r = query('by op | count()', '--parquet', 'out.parquet')
r = run('sql', '-i', 'a.trace', '--json', "SELECT op, count FROM 'out.parquet'")
check('Parquet reads back', {row['op']: row['count'] for row in json.loads(r.stdout)['rows']} == counts, r.stdout[:300], r.stderr)
r = query('select start, dur, op, path | head 1000', '--parquet', "it's.parquet")
r2 = run('sql', '-i', 'a.trace', '--json', "SELECT count(*) AS n, sum(dur) AS d FROM 'it''s.parquet'")
d = json.loads(query('select dur | head 1000', '--json').stdout)
check('Parquet of rows', json.loads(r2.stdout)['rows'] == [{'n': 1000, 'd': sum(x['dur'] for x in d['rows'])}], r.stderr, r2.stdout, r2.stderr)
r = query('by op | count() | sort count() desc | head 3', '--explain', '--analyze')
check('--explain --analyze', r.returncode == 0 and 'PLAN' in r.stdout and 'SQL' in r.stdout and 'STEP' in r.stdout
      and '3 rows' in r.stdout, r.stdout, r.stderr)

t = terminal('query', 'by every 1ms | hist(dur)', '-i', 'a.trace', '--rel')
status = t.wait()
check('a heat map in colours', status == 0 and b'\x1b[48;5;' in t.output and b'windows of 1.00 ms' in t.output, t.output[-300:])
t = terminal('query', 'by class every 1ms | count()', '-i', 'a.trace', '--rel')
status = t.wait()
lines = t.output.decode().split('\r\n')
totals = {line.split()[0]: int(line.split()[1].replace(',', '')) for line in lines[1:-2]}
untimed = re.search(r'; ([\d,]+) without a time', lines[-2])
totals['untimed'] = int(untimed[1].replace(',', '')) if untimed else 0
check('counts by time and one key are lines', status == 0 and sum(totals.values()) == 200000 and '\u2588' in lines[1], lines)
t = terminal('query', 'by class every 1ms | count() | head 3', '-i', 'a.trace', '--rel')
check('unless the rows are asked for', t.wait() == 0 and t.output.count(b'\n') == 4, t.output)

# ---- Ctrl-C
many = [shutil.copy(f'{folder}/a.trace', f'{folder}/copy-{i}.trace') for i in range(40)]
for what, slow in [('an answer', 'by path, start, tid | count(), hist(dur), quantize(bytes) | sort hist(dur)'),
                   ('rows', 'select start, path, comm')]:
    p = subprocess.Popen([weir, 'query', slow.replace(' | sort hist(dur)', ''), *many], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, cwd=folder, env=env)
    takes_signals(p)
    time.sleep(0.5)
    if p.poll() is not None:
        check(f'Ctrl-C in {what} # SKIP it ended at once', True)
        continue
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    p.communicate()
    check(f'Ctrl-C in {what}: 130', p.returncode == 130, p.returncode)
    print(f'# {what}: {(time.monotonic() - began) * 1000:.0f} ms')

# ---- prompt
t = terminal('query', '-i', 'a.trace')
check('the prompt', '\\q' in (t.expect('query> ') or ''), t.output)
t.send('by class | count() as calls |\n')
check('a line that ends with | goes on', t.expect('...> ') is not None, t.output)
t.send('sort calls desc\n')
check('and is answered', 'data' in (t.expect('query> ') or ''), t.output)
t.send('op in (prea\t) | count() as all_of_it\n')
check('Tab completes', str(counts['pread64'] // 1000) + ',' in (t.expect('query> ') or ''), t.output)
t.send('where nosuch == 1\n')
check('a mistake is shown under its character', '^' in (t.expect('query> ') or ''), t.output)
t.send('\\d op\n\\f\n\\nosuch\n')
check('helpers', t.expect('thread_id') is not None and t.expect('quantize') is not None and t.expect('\\?') is not None, t.output)
t.expect('query> ')
t.send('count(\x03')
check('Ctrl-C forgets what is typed', t.expect('^C\r\nquery> ') is not None, t.output)
t.send('select path | head 1;\n')
check('and a semicolon does no harm', t.expect('query> ') is not None, t.output)
check('Ctrl-D leaves', t.leave('\x04') == 0, t.output)
for name in ('state', 'out.parquet', "it's.parquet", 'grow.trace', 'a.trace', 'q', *many):
    path = os.path.join(folder, name)
    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
check('nothing is left behind', os.listdir(folder) == [], os.listdir(folder))
shutil.rmtree(folder)
sys.exit(tap.end())
