// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import type { FileNode } from '../src/lib/api';
import { onePerPath } from '../src/lib/paths';
import { isGroup, kindOf } from '../src/lib/sockets';

const file = (id: number, path: string, calls: number): FileNode => ({ name: path.replace(/\/$/, '').split('/').pop() || '/', path, dir: false, id, calls, errors: 1, bytes: 10 * calls, time: 100 * calls });
const folder = (path: string, calls: number): FileNode => ({ ...file(-1, path, calls), dir: true, id: null, errors: 0 });

test('a folder and the calls that named it are one line', () => {
	const { nodes, self } = onePerPath('/', [folder('/etc', 5), file(1, '/etc', 3), file(2, '/etc/', 1), file(3, '/boot', 7)]);
	expect(nodes.map((n) => [n.path, n.dir, n.calls, n.errors])).toEqual([['/etc', true, 9, 2], ['/boot', false, 7, 1]]);
	const [own] = self.get('/etc')!;
	expect(own!.name).toBe('.');
	expect(isGroup(own!) && own!.members.map((m) => m.id)).toEqual([1, 2]);
	expect(own!.calls).toBe(4);
});

test('files that had one path one after another are one line, which opens', () => {
	const { nodes } = onePerPath('/tmp', [file(1, '/tmp/wal', 3), file(2, '/tmp/log', 1), file(3, '/tmp/wal', 4)]);
	expect(nodes.map((n) => [n.name, n.calls, n.bytes])).toEqual([['wal', 7, 70], ['log', 1, 10]]);
	const [wal] = nodes;
	expect(isGroup(wal!) && [kindOf(wal!), wal!.members.map((m) => m.id)]).toEqual(['files', [1, 3]]);
});

test('the folder itself is a dot among what lies in it', () => {
	expect(onePerPath('/', [file(1, '/', 2)]).nodes.map((n) => n.name)).toEqual(['.']);
	expect(onePerPath('/', [file(1, '/', 2)]).nodes[0]!.calls).toBe(2);
});

test('what has no path stays as it is', () => {
	const pipes = [file(1, 'pipe:[7]', 1), file(2, 'pipe:[7]', 1)];
	expect(onePerPath('pipes', pipes).nodes).toEqual(pipes);
});
