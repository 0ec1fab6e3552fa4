// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { FileNode } from '../src/lib/api';
import { filterOfAddress, groupSockets, isGroup, otherEnd, rankSockets, sharesSockets } from '../src/lib/sockets';

const file = (name: string, id: number, calls = 1): FileNode => ({ name, path: '', dir: false, id, calls, errors: 1, bytes: 10, time: 100 });

describe('sockets', () => {
	it('that share an address are one line with their sums', () => {
		const of = groupSockets([file('tcp 10.0.0.1:80->10.0.0.2:1001', 1, 5), file('tcp 10.0.0.1:80->10.0.0.2:1002', 2), file('tcp 10.0.0.2:1002->10.0.0.1:80', 3), file('tcp 10.0.0.1:80', 4)]);
		expect(of.length).toBe(1);
		expect(of[0]).toMatchObject({ name: 'tcp 10.0.0.1:80', dir: true, id: null, calls: 8, errors: 4, bytes: 40, time: 400 });
		expect(isGroup(of[0]!) && of[0].members.map((m) => m.id)).toEqual([1, 2, 3, 4]);
	});
	it('of one connection, and files, stay as they are', () => {
		const nodes = [file('tcp 10.0.0.1:80->10.0.0.2:1001', 1), file('tcp 10.0.0.2:1001->10.0.0.1:80', 2), file('a b->c d', 3), file('', 4), file('', 5), file('', 6)];
		expect(groupSockets(nodes)).toEqual(nodes);
	});
	it('of one name are one line; of another protocol they are not', () => {
		const of = groupSockets([file('unix:/run/x', 1), file('unix:/run/x', 2), file('unix:/run/x', 3), file('udp 1.1.1.1:53->2.2.2.2:1', 4), file('tcp 1.1.1.1:53->2.2.2.2:2', 5), file('tcp 1.1.1.1:53->2.2.2.2:3', 6)]);
		expect(of.map((n) => [n.name, isGroup(n) ? n.members.length : 0])).toEqual([
			['unix:/run/x', 3],
			['udp 1.1.1.1:53->2.2.2.2:1', 0],
			['tcp 1.1.1.1:53->2.2.2.2:2', 0],
			['tcp 1.1.1.1:53->2.2.2.2:3', 0],
		]);
	});
	it('never lose a call', () => {
		const nodes = Array.from({ length: 200 }, (_, i) => file(`tcp h${i % 7}:${i % 3}->k${i % 5}:${i}`, i, i));
		const sum = (list: FileNode[]) => list.reduce((s, n) => s + n.calls, 0);
		expect(sum(groupSockets(nodes))).toBe(sum(nodes));
	});
});

describe('the table of files', () => {
	const rows = [1, 2, 3].map((n) => ({ id: n, name: `tcp 10.0.0.1:80->10.0.0.2:100${n}`, time: 100 }));
	const all = [...rows.map((r) => file(r.name, r.id)), file('tcp 10.0.0.1:80->10.0.0.2:1009', 9)];
	it('has one row for sockets of one address, and room for other files', () => {
		expect(sharesSockets(rows)).toBe(true);
		expect(sharesSockets([{ id: 7, name: '/tmp/a->b', time: 1 }, ...rows.slice(1)])).toBe(false);
		const is = rankSockets(rows, [{ id: 5, name: '/a', time: 50 }], 4, all);
		expect(is.rows).toMatchObject([{ name: 'tcp 10.0.0.1:80', calls: 4, time: 400 }, { name: '/a' }]);
		expect(is.others).toBe(2); // of seven: four sockets and a file are told
	});
	it('narrows to an address by either end of a connection', () => {
		expect(filterOfAddress('tcp [::1]:80')).toBe('(file == "tcp [::1]:80" || file ~ "tcp ?::1?:80->*" || file ~ "tcp *->?::1?:80")');
		expect(filterOfAddress('unix:/a "b"')).toBe('file == "unix:/a \\"b\\""');
	});
	it('tells the other end within a group', () => {
		expect(otherEnd('tcp 10.0.0.1:80->10.0.0.2:1001', 'tcp 10.0.0.1:80')).toBe('-> 10.0.0.2:1001');
		expect(otherEnd('tcp 10.0.0.2:1001->10.0.0.1:80', 'tcp 10.0.0.1:80')).toBe('10.0.0.2:1001 ->');
		expect(otherEnd('tcp 10.0.0.1:80', 'tcp 10.0.0.1:80')).toBe('tcp 10.0.0.1:80');
	});
});
