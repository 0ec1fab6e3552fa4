#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""judged.py: the judge of cases.py against findings that are planted: what must be called wrong is, and nothing else."""
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cases import Tap, judge  # noqa: E402

ROW = {'rule': 'small-writes', 'path': '/tmp/a/b/events.log', 'peer': None, 'process': 'run 12', 'thread': 'writer 13', 'pos': 0, 'stop_pos': 500}
tap = Tap()


def wrong(name, how_many, rows, expected, allowed=()):
    bad = judge(rows, expected, allowed)
    tap.check(name, len([b for b in bad if not b.startswith(' ')]) == how_many, *bad)


WANT = {'rule': 'small-writes', 'path': '**/events.log', 'thread': 'writer', 'range': [0, 500]}
wrong('as expected', 0, [ROW], [WANT])
wrong('by its rule alone', 0, [ROW], [{'rule': 'small-writes'}])
wrong('half of a range', 0, [ROW], [WANT | {'range': [None, 500]}])
wrong('nothing, where nothing is expected', 0, [], [])
wrong('nothing, where something is expected', 1, [], [WANT])
wrong('a finding in a healthy twin', 1, [ROW], [])
wrong('a finding more', 1, [ROW, ROW | {'rule': 'sync-per-write'}], [WANT])
wrong('a finding more, which is allowed', 0, [ROW, ROW | {'rule': 'sync-per-write'}], [WANT], ['sync-per-write'])
wrong('an allowed one does not stand for the expected one', 1, [ROW | {'rule': 'sync-per-write'}], [WANT], ['sync-per-write'])
# The expected one is missing, and the one that is there was not expected.
wrong('another rule', 2, [ROW | {'rule': 'small-reads'}], [WANT])
wrong('another file', 2, [ROW | {'path': '/tmp/other.log'}], [WANT])
wrong('no file', 2, [ROW | {'path': None}], [WANT])
wrong('another thread', 2, [ROW | {'thread': 'run 12'}], [WANT])
wrong('another range', 2, [ROW | {'stop_pos': 499}], [WANT])
wrong('one * does not cross folders', 2, [ROW], [WANT | {'path': '/tmp/*/events.log'}])
wrong('the same fault in two files, of which one is expected', 1, [ROW, ROW | {'path': '/tmp/x.log'}], [WANT])
OTHER = ROW | {'rule': 'other-tracer', 'path': None, 'thread': None}
wrong('a tracer of the program', 1, [OTHER], [])
wrong('a tracer beside it, which is the machine\'s', 0, [OTHER | {'process': None}], [])
sys.exit(tap.end())
