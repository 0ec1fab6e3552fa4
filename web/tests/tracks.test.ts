// SPDX-License-Identifier: Apache-2.0
// Where the lanes of the timeline stand.
import { describe, expect, it } from 'vitest';
import { hiding, moved, NO_WISHES, place, type Place } from '../src/charts/tracks';
import type { Lane } from '../src/lib/api';

const lane = (id: number, pid: number, calls: number, more: Partial<Lane> = {}): Lane => ({ id, tid: id, comm: 'c', pid, process: 'p', argument: null, container: null, host: 'h', calls, time: 100, wait_time: 100, thread: id, ppid: -1, ...more });
const told = (places: Place[]) => places.map((p) => (p.kind === 'lane' ? p.lane.id : p.title));

describe('lanes', () => {
	it('stand under their process, the main thread first, then who called most', () => {
		const { places } = place([lane(11, 10, 5), lane(12, 10, 50), lane(10, 10, 1), lane(20, 20, 9), lane(21, 20, 8)]);
		expect(told(places)).toEqual(['p 10', 10, 12, 11, 'p 20', 20, 21]);
	});
	it('tell hosts and containers where there are several, and a process of one thread has no head', () => {
		const { places } = place([lane(1, 1, 1, { host: 'a', container: '0123456789abcdef' }), lane(2, 2, 1, { host: 'b' })]);
		expect(places.map((p) => [p.kind, p.title])).toEqual([
			['lane', 'a / 0123456789ab / p 1'],
			['lane', 'b / p 2'],
		]);
	});
	it('are none where nobody called', () => expect(place([])).toEqual({ places: [], height: 0, pinnedHeight: 0 }));

	it('stand under the parent of their process, on the same host', () => {
		const { places } = place([lane(1, 1, 5), lane(2, 2, 5), lane(3, 3, 5, { ppid: 1 }), lane(4, 4, 5, { ppid: 3 }), lane(5, 5, 5, { ppid: 2, host: 'i' })]);
		expect(told(places)).toEqual([1, 3, 4, 2, 5]);
		expect(places.map((p) => p.indent)).toEqual([0, 10, 20, 0, 0]);
	});
	it('are all there where parents lead in a circle', () => {
		const { places } = place([lane(1, 1, 5, { ppid: 2 }), lane(2, 2, 5, { ppid: 1 }), lane(3, 3, 5, { ppid: 3 })]);
		expect(told(places).sort()).toEqual([1, 2, 3]);
	});
	it('that did next to nothing but wait are one line, unless all did', () => {
		const idle = { time: 1, wait_time: 5000 };
		const all = [lane(1, 1, 9), lane(2, 1, 4, idle), lane(3, 1, 4, idle), lane(4, 4, 4, idle)];
		expect(told(place(all).places)).toEqual(['p 1', 1, '2 idle threads', '1 idle thread']);
		expect(told(place(all, { ...NO_WISHES, unfolded: new Set(['ip1']) }).places)).toEqual(['p 1', 1, '2 idle threads', 2, 3, '1 idle thread']);
		expect(told(place([lane(2, 2, 4, idle)]).places)).toEqual([2]);
	});
	it('are folded with all below them, and told what hides one', () => {
		const all = [lane(1, 1, 5), lane(2, 1, 5), lane(3, 3, 5, { ppid: 1 }), lane(4, 3, 2, { ppid: 1, time: 0 })];
		const folded = { ...NO_WISHES, folded: new Set(['p1']) };
		expect(told(place(all, folded).places)).toEqual(['p 1']);
		expect(hiding(all, folded, 3)).toEqual({ unfold: ['p3', 'p1'], open: [] });
		expect(hiding(all, NO_WISHES, 4).open).toEqual(['ip3', 'cp1', 'idle']);
		expect(hiding(all, NO_WISHES, 3)).toEqual({ unfold: [], open: [] });
	});
	it('that are pinned stand at the top and nowhere else', () => {
		const { places, pinnedHeight } = place([lane(1, 1, 5), lane(2, 1, 5), lane(3, 3, 5)], { ...NO_WISHES, pinned: [3, 2, 77] });
		expect(told(places)).toEqual([3, 2, 'p 1', 1]);
		expect(places.map((p) => p.pinned ?? false)).toEqual([true, true, false, false]);
		expect(pinnedHeight).toBe(40);
	});
	it('are moved among those beside them', () => {
		const all = [lane(1, 1, 5), lane(2, 2, 5), lane(3, 3, 5), lane(4, 4, 5, { ppid: 1 })];
		expect(moved(all, NO_WISHES, 'p3', -1)).toEqual(['p1', 'p3', 'p2']);
		expect(moved(all, NO_WISHES, 'p3', -9)).toEqual(['p3', 'p1', 'p2']);
		expect(moved(all, NO_WISHES, 'p3', ['p4', 'p1'])).toEqual(['p3', 'p1', 'p2']);
		expect(told(place(all, { ...NO_WISHES, order: ['p3', 'p1', 'p2'] }).places)).toEqual([3, 1, 4, 2]);
	});
	it('are moved within their process, idle ones among themselves', () => {
		const idle = { time: 1, wait_time: 5000 };
		const all = [lane(1, 1, 9), lane(2, 1, 8), lane(3, 1, 7), lane(4, 1, 6, idle), lane(5, 1, 5, idle), lane(6, 6, 5), lane(7, 6, 4)];
		expect(moved(all, NO_WISHES, 't3', -1)).toEqual(['t1', 't3', 't2']);
		expect(moved(all, NO_WISHES, 't3', ['t1', 'p1'])).toEqual(['t3', 't1', 't2']);
		expect(moved(all, NO_WISHES, 't3', ['p1'])).toEqual(['t3', 't1', 't2']);
		expect(moved(all, NO_WISHES, 't1', ['t7', 'p6', 't3', 't2'])).toEqual(['t2', 't3', 't1']);
		expect(moved(all, NO_WISHES, 't5', -1)).toEqual(['t5', 't4']);
		expect(moved(all, { ...NO_WISHES, pinned: [2] }, 't3', -1)).toEqual(['t3', 't1']);
		expect(moved(all, NO_WISHES, 't99', 1)).toEqual([]);
		const wishes = { ...NO_WISHES, unfolded: new Set(['ip1']), order: ['t3', 't1', 't2', 't5', 't4'] };
		expect(told(place(all, wishes).places)).toEqual(['p 1', 3, 1, 2, '2 idle threads', 5, 4, 'p 6', 6, 7]);
	});
});
