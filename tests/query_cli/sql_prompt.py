#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sql_prompt.py WEIR: `weir sql` on a pseudo-terminal: statements, history, completion, Ctrl-C, leaving."""
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), '..', 'common'))
from tap import Tap  # noqa: E402
from terminal import Terminal  # noqa: E402

weir = os.path.abspath(sys.argv[1])
tap = Tap()
check = tap.check
folder = tempfile.mkdtemp(prefix='weir-prompt-')
env = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, 'state'), TMPDIR=folder)


subprocess.run([weir, 'synth', '-q', '-o', 'a.trace', '--rows', '50000', '--seed', '3'], cwd=folder, check=True)
r = subprocess.run([weir, 'sql', '-i', 'a.trace', 'SELECT 1'], cwd=folder, capture_output=True, text=True)
if 'is not installed' in r.stderr:
    shutil.rmtree(folder)
    print(f'1..0 # SKIP {r.stderr.strip()}')
    sys.exit(0)

t = Terminal([weir, 'sql', '-i', 'a.trace'], folder, env)
check('says what it is and how to leave', '\\q' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT count(*) AS calls\n')
check('a statement goes on until its semicolon', t.expect('...> ') is not None, t.output)
t.send('FROM op;\n')
check('and is answered', '50000' in (t.expect('sql> ') or ''), t.output)
t.send("SELECT 'a;b' AS x -- c;\n")
check('a semicolon in quotes or a comment ends nothing', t.expect('...> ') is not None, t.output)
t.send(';\n')
check('and is kept', 'a;b' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT count(*) AS all_of_it FROM op_na\t;\n')
check('Tab completes a table', '50000' in (t.expect('sql> ') or ''), t.output)
t.send("SELECT count(*) > 0 AND bool_and(writes > 0) AS made FROM weir_use(filter := 'writes > 0');\n")
check('a table that is computed on demand has rows', 'true' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT file_\t')
check('Tab offers columns', t.expect('file_type') is not None, t.output)
t.send('\x03')
check('Ctrl-C forgets what is typed', t.expect('^C\r\nsql> ') is not None, t.output)
t.send('\\d\n')
check('\\d lists the tables', 'op_named' in (t.expect('sql> ') or ''), t.output)
t.send('\\d op\n')
check('\\d op its columns', 'thread_id' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT nothing_of_that_name FROM op;\n')
check('an error leaves the prompt', 'weir: ' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT count(*) FROM op a, op b WHERE a.dur + b.dur < 0;\n')
t.expect('blocks', 1.5)
t.send('\x03')
check('Ctrl-C stops a statement', 'interrupted' in (t.expect('sql> ') or ''), t.output)
t.send('SELECT 4711 AS after;\n')
check('and the prompt goes on', '4711' in (t.expect('4711\r\nsql> ') or ''), t.output)
t.send('\x1b[A\n')
check('the arrow calls the last statement back', '4711\r\nsql> ' in (t.expect('4711\r\nsql> ') or ''), t.output)
t.send("SELECT e'\\x1b[31mred' AS c;\n")
answer = t.expect('sql> ') or ''
check('control characters do not reach the terminal', '\\x1b[31mred' in answer and '\x1b[31m' not in answer, answer)
t.send('\\timing\nSELECT 1;\n\\nosuch\n')
check('\\timing, and a word that there is not', t.expect('timing is on') is not None and t.expect('\\?') is not None, t.output)
t.expect('sql> ')
check('Ctrl-D leaves', t.leave('\x04') == 0, t.output)
history = os.path.join(folder, 'state', 'weir', 'sql_history')
with open(history) as f:
    kept = f.read()
check('history is kept, for the user alone', '4711' in kept and os.stat(history).st_mode & 0o777 == 0o600, kept)
t = Terminal([weir, 'sql', '-i', 'a.trace'], folder, env)
t.expect('sql> ')
t.send('\x1b[A\x1b[A')
check('and known the next time', t.expect('SELECT') is not None, t.output)
t.send('\x03')
t.expect('sql> ')
check('\\q leaves', t.leave('\\q\n') == 0, t.output)
check('nothing is left behind', sorted(os.listdir(folder)) == ['a.trace', 'state'], os.listdir(folder))
shutil.rmtree(folder)
sys.exit(tap.end())
