// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { Content, joined, type Alike } from '../src/lib/alike';
import { bundles, lineage, replication, spaceTime, type Arrow, type FlowEdge, type FlowPlace } from '../src/lib/flow';

const link = (a: number, b: number, similarity: number) => ({ a, b, similarity });

describe('groups of data', () => {
	it('joins what is similar enough, over others too', () => {
		const links = [link(1, 2, 1), link(5, 6, 0.9), link(2, 3, 0.8), link(3, 4, 0.6)];
		const groups = (least: number) => [1, 2, 3, 4, 5, 6, 7].map(joined(links, least));
		expect(groups(100)).toEqual([1, 1, 3, 4, 5, 6, 7]);
		expect(groups(80)).toEqual([1, 1, 1, 4, 5, 5, 7]);
		expect(groups(50)).toEqual([1, 1, 1, 1, 5, 5, 7]);
	});

	it('says what is like the data of a call, and gives groups colours by their size', () => {
		const member = (op: number, kind: number) => ({ op, kind, file: `/f${kind}` });
		const alike = { tables: { members: { rows: [member(10, 1), member(11, 1), member(12, 2), member(13, 3), member(14, 4), member(15, 4), member(16, 5)] }, links: { rows: [link(1, 2, 0.9), link(2, 3, 0.7)] } } } as unknown as Alike;
		const at80 = new Content(alike, 80);
		expect(at80.groups.map((g) => [g.root, g.calls, g.file])).toEqual([[1, 3, '/f1'], [4, 2, '/f4']]);
		expect(at80.colour([12])).toBe(at80.colour([null, 10]));
		expect(at80.colour([13])).toBeNull();
		expect(at80.colour([99])).toBeNull();
		expect(at80.words([10])).toBe('identical in 2 calls, 90 % or more in 3, 70 % or more in 4');
		expect(at80.words([99, null])).toBe('no similar data');
		expect(new Content(alike, 60).groups.map((g) => g.calls)).toEqual([4, 2]);
	});
});

describe('lineage', () => {
	const place = (depth: number, who: string, call: string, delay: number, bytes: number): FlowPlace => ({ depth, host: 'h', who, call, file: null, at: delay, delay, bytes, via: depth ? 'pipe' : null });

	it('puts the same calls of a process together, under the same place', () => {
		const tree = lineage([place(0, 'a', 'write', 0, -1), place(1, 'b', 'read', 5, 10), place(2, 'b', 'write', 7, 10), place(1, 'b', 'read', 9, 20), place(2, 'b', 'write', 11, 20), place(1, 'c', 'read', 3, 30), place(0, 'a', 'write', 0, -1), place(1, 'b', 'read', 4, 1)]);
		expect(tree.length).toBe(1);
		expect([tree[0]!.calls, tree[0]!.bytes]).toEqual([2, 0]);
		expect(tree[0]!.below.map((l) => [l.place.who, l.calls, l.bytes, l.first, l.last])).toEqual([['b', 3, 31, 4, 9], ['c', 1, 30, 3, 3]]);
		expect(tree[0]!.below[0]!.below.map((l) => [l.calls, l.bytes])).toEqual([[2, 30]]);
	});
});

describe('replication', () => {
	it('is a graph of hops, each node right of its sources', () => {
		const hop = (from: string | null, to: string, objects = 1) => ({ from, to, objects, bytes: 1, lag: 2 });
		const { nodes, links } = replication([hop('client', 'n1', 12), hop('n1', 'n2', 8), hop('client', 'n2'), hop(null, 'n3', 4)]);
		expect(nodes).toEqual([['client', 0, 0], ['n1', 1, 0], ['n2', 2, 0], ['n3', 0, 1]].map(([name, column, row]) => ({ name, column, row })));
		expect(links.map((l) => [nodes[l.from]!.name, nodes[l.to]!.name, l.hop.objects])).toEqual([['client', 'n1', 12], ['n1', 'n2', 8], ['client', 'n2', 1]]);
		expect(replication([hop('a', 'b'), hop('b', 'a')]).links.length).toBe(2);
	});
});

describe('lanes', () => {
	it('are processes in the order of hosts, or hosts', () => {
		const edge = (from: string[], to: string[], at: number) => ({ via: 'stream', from_host: from[0], from_process: from[1], from_start: at, to_host: to[0], to_process: to[1], to_end: at + 5 }) as unknown as FlowEdge;
		const edges = [edge(['b', 'client'], ['a', 'server'], 1), edge(['a', 'server'], ['a', 'store'], 7), edge(['a', 'store'], ['b', 'client'], 13)];
		const both = (['processes', 'hosts'] as const).map((of) => spaceTime(edges, new Set(), of));
		expect(both.map((p) => p.lanes.map((l) => `${l.host}:${l.process}`))).toEqual([['b:client', 'a:server', 'a:store'], ['b:', 'a:']]);
		expect(both.map((p) => p.arrows.map((a) => [a.from, a.to]))).toEqual([[[0, 1], [1, 2], [2, 0]], [[0, 1], [1, 1], [1, 0]]]);
	});
});

describe('level of detail', () => {
	it('draws arrows that lie together as one, and loses none', () => {
		const all = Array.from({ length: 100000 }, (_, i) => ({ from: i % 3, to: (i + 1) % 3, time: [i, i + 100] }) as unknown as Arrow);
		const few = bundles(all, (a) => [a.time[0] / 100, a.time[1] / 100], () => 'read', 3);
		expect(few.reduce((n, b) => n + b.count, 0)).toBe(100000);
		expect(few.length).toBeLessThan(2100);
	});
});
