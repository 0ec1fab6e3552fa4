// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { FileNode } from '../src/lib/api';
import { filterOf, MARK, opening, otherEnd, titleOf } from '../src/lib/lines';

const node = (name: string, more: Partial<FileNode> = {}): FileNode => ({ name, path: name, dir: false, id: 1, calls: 1, errors: 0, bytes: 0, time: 1, ...more });

test('a line of several files has their number in its title, and opens', () => {
	const line = node('wal', { path: '/tmp/wal', line: 7, files: 1200, kind: 'files', members: [node('wal')] });
	expect(titleOf(line)).toBe('wal (1,200 files)');
	expect(titleOf(node('log'))).toBe('log');
	expect(opening([line, node('log')]).map((n) => [n.path, n.dir])).toEqual([[`${MARK}7`, true], ['log', false]]);
});

test('the filter of a line', () => {
	expect(filterOf({ name: 'clients, [::1]:80', files: 3, kind: 'connections' })).toBe('(file ~ "??? ?::1?:80" || file ~ "??? ?::1?:80->*")');
	expect(filterOf({ name: 'to 10.0.0.1:80', files: 3, kind: 'connections' })).toBe('file ~ "??? *->10.0.0.1:80"');
	expect(filterOf({ name: 'clients, unix:/a "b"', files: 3, kind: 'connections' })).toBe('file == "unix:/a \\"b\\""');
	expect(filterOf({ name: '/tmp/wal', files: 3, kind: 'files' })).toBe('file == "/tmp/wal"');
});

test('the other end within a line', () => {
	expect(otherEnd('tcp 10.0.0.1:80->10.0.0.2:1001', 'clients, 10.0.0.1:80')).toBe('-> 10.0.0.2:1001');
	expect(otherEnd('tcp 10.0.0.2:1001->10.0.0.1:80', 'to 10.0.0.1:80')).toBe('10.0.0.2:1001 ->');
	expect(otherEnd('tcp 10.0.0.1:80', 'clients, 10.0.0.1:80')).toBe('tcp 10.0.0.1:80');
});
