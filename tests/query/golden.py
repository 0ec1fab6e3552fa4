#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""golden.py SHOW FILE [--update]: the plan or the error of each query in FILE ("> query", then what SHOW prints)."""
import os
import subprocess
import sys


def read(path):
    """(query, output) of each case; a case ends with an empty line, lines with # before it are titles."""
    with open(path, encoding='utf-8') as f:
        for block in f.read().strip('\n').split('\n\n'):
            lines = block.split('\n')
            titles = [line for line in lines if line.startswith('#')]
            query = [line[2:] for line in lines if line.startswith('> ')]
            out = lines[len(titles) + len(query):]
            yield titles, '\n'.join(query), '\n'.join(out)


def main():
    show, path = sys.argv[1:3]
    cases = list(read(path))
    run = subprocess.run([show, *(query for _, query, _ in cases)], capture_output=True, text=True, check=True,
                         env=dict(os.environ, TZ='UTC', LC_ALL='C.UTF-8'))
    outputs = run.stdout.removesuffix('\n\n').split('\n\n')
    if len(outputs) != len(cases):
        sys.exit(f'not ok 1 - {len(cases)} queries, {len(outputs)} answers')
    if '--update' in sys.argv:
        with open(path, 'w', encoding='utf-8') as f:
            f.write('\n\n'.join('\n'.join([*titles, *('> ' + line for line in query.split('\n')), out])
                                for (titles, query, _), out in zip(cases, outputs)) + '\n')
        return
    print(f'1..{len(cases)}')
    failed = 0
    for i, ((_, query, want), got) in enumerate(zip(cases, outputs), 1):
        print('ok' if want == got else 'not ok', i, '-', query.replace('\n', ' ').replace('#', '\\#'))
        if want != got:
            failed += 1
            print('\n'.join('# ' + line for line in f'wanted\n{want}\ngot\n{got}'.split('\n')))
    sys.exit(bool(failed))


main()
