// SPDX-License-Identifier: Apache-2.0
// Level of detail: what the timeline draws of answers that are finer or coarser than the screen.
import { describe, expect, it } from 'vitest';
import { BAR, Bars, drawn, keep, LOOKS, palette, stack } from '../src/charts/lanes';
import type { Columns } from '../src/lib/columns';

interface Bar {
	lane?: number;
	start: number;
	dur: number;
	row?: number | null;
	op?: string;
	class?: string;
	err?: string | null;
	count?: number;
	busy?: number;
}

/** Columns as the server gives them, from rows. */
function columnsOf(rows: Bar[]): Columns {
	const numbers: Record<string, number[]> = {
		lane: rows.map((r) => r.lane ?? 1),
		start: rows.map((r) => r.start),
		dur: rows.map((r) => r.dur),
		row: rows.map((r, i) => (r.row === null ? NaN : (r.row ?? i))),
		count: rows.map((r) => r.count ?? 1),
		busy: rows.map((r) => r.busy ?? 1),
	};
	const texts: Record<string, (string | null)[]> = { op: rows.map((r) => r.op ?? 'read'), class: rows.map((r) => r.class ?? 'data'), err: rows.map((r) => r.err ?? null) };
	const words = (name: string) => [...new Set(texts[name]!.filter((t): t is string => t !== null))];
	return {
		origin: '0',
		rows: rows.length,
		loss: { events: 0, causes: {} },
		heads: [],
		numbers: (name) => Float64Array.from(numbers[name]!),
		codes: (name) => Uint32Array.from(texts[name]!.map((t) => (t === null ? 0xffffffff : words(name).indexOf(t)))),
		words,
	};
}

const bars = (rows: Bar[], from = 0, to = 1000, perPixel = 1, lanes = [1]) => new Bars(columnsOf(rows), new Set(lanes), from, to, perPixel);
const BAD = 0xbad;
const colours = palette((name) => 0xff001000 + LOOKS.indexOf(name as (typeof LOOKS)[number]));
const READ = 0xff001000;
const WRITE = READ + 1;
const NET = READ + LOOKS.indexOf('net');
const WAIT = READ + LOOKS.indexOf('wait');
const faint = (colour: number) => ((colour & 0xffffff) | (0x80 << 24)) >>> 0;

/** The lowest row of a lane's pixels; `column` are those of one place, from the bottom. */
function raster(of: Bars, from: number, to: number, width: number, into = new Uint32Array(width * BAR)) {
	const seen: number[] = [];
	of.raster(1, from, to, into, colours, BAD, (i) => seen.push(i), 40);
	const column = (x: number) => Array.from({ length: BAR }, (_, y) => into[(BAR - 1 - y) * width + x]!);
	return { row: into.slice((BAR - 1) * width), top: into.slice(0, width), column, seen };
}

describe('a lane as pixels', () => {
	it('has a bar where the call was, which is fainter at its end', () => {
		const { row } = raster(bars([{ start: 100, dur: 100 }]), 0, 1000, 100);
		expect([...row.slice(9, 21)]).toEqual([0, READ, READ, READ, READ, READ, READ, READ, READ, READ, faint(READ), 0]);
	});

	it('shows every call, however short', () => {
		const { row } = raster(bars([{ start: 500, dur: 0 }, { start: 700, dur: 1, op: 'write' }]), 0, 1000, 10);
		expect([...row]).toEqual([0, 0, 0, 0, 0, READ, 0, WRITE, 0, 0]);
	});

	it('shows calls that began before the screen or end behind it', () => {
		const { row } = raster(bars([{ start: 0, dur: 1000 }]), 400, 500, 10);
		expect([...row]).toEqual(Array(10).fill(READ));
	});

	it('is not empty at one nanosecond a pixel', () => {
		const { row } = raster(bars([{ start: 500, dur: 3 }, { start: 505, dur: 1 }]), 498, 508, 10);
		expect([...row]).toEqual([0, 0, READ, READ, READ, 0, 0, READ, 0, 0]);
	});

	it('is as high as its part of the time', () => {
		const { column } = raster(bars([{ start: 0, dur: 10, row: null, busy: 0.5, count: 9 }, { start: 10, dur: 10, row: null, busy: 1, count: 9 }]), 0, 20, 2);
		expect(column(0)).toEqual([...Array(BAR / 2).fill(READ), ...Array(BAR / 2).fill(0)]);
		expect(column(1)).toEqual(Array(BAR).fill(READ));
	});

	it('is shared by what a thread did within a pixel', () => {
		const cell = { start: 0, dur: 10, row: null };
		const { column } = raster(bars([{ ...cell, op: 'sendto', class: 'net', busy: 0.33 }, { ...cell, op: 'epoll_wait', class: 'wait', busy: 0.31 }]), 0, 10, 1);
		const heights = [NET, WAIT, 0].map((c) => column(0).filter((x) => x === c).length);
		expect(heights).toEqual([5, 4, 5]);
		const ends = raster(bars([{ start: 0, dur: 15, op: 'epoll_wait', class: 'wait' }, { start: 15, dur: 5 }]), 0, 20, 2);
		expect([READ, WAIT].map((c) => ends.column(1).filter((x) => x === c).length)).toEqual([7, 7]);
	});

	it('has no gaps where a thread is nearly always busy, however wide the stretches are', () => {
		const cells = Array.from({ length: 40 }, (_, i) => ({ start: i * 100, dur: 100, row: null, busy: 0.985, count: 50 }));
		for (const width of [40, 145, 160, 311]) expect(raster(bars(cells, 0, 4000), 0, 4000, width).top.includes(0)).toBe(false);
	});

	it('says what failed', () => {
		const { row, top } = raster(bars([{ start: 0, dur: 5, err: 'ENOENT' }, { start: 5, dur: 5 }]), 0, 10, 2);
		expect([...row]).toEqual([BAD, READ]);
		expect([...top]).toEqual([READ, READ]);
	});

	it('names those that are wide enough, and are calls of their own', () => {
		const { seen } = raster(bars([{ start: 0, dur: 500 }, { start: 500, dur: 500, row: null }]), 0, 1000, 100);
		expect(seen).toEqual([0]);
	});

	it('leaves alone what it does not know of', () => {
		const before = new Uint32Array(4 * BAR).fill(7);
		const { row } = raster(bars([{ start: 25, dur: 1 }], 20, 30), 0, 40, 4, before);
		expect([...row]).toEqual([7, 7, READ, 7]);
	});

	it('orders what came unordered', () => {
		const of = bars([{ start: 30, dur: 10 }, { start: 10, dur: 10, op: 'write' }]);
		expect([...raster(of, 0, 40, 4).row]).toEqual([0, WRITE, 0, READ]);
		expect(of.at(1, 15, 0)).toBe(1);
	});
});

describe('the parts of a pixel', () => {
	it('never take more than there is, and each is seen', () => {
		const heights = new Uint8Array(LOOKS.length);
		stack(Float32Array.from(LOOKS, () => 1e-6), 0, heights);
		expect([...heights]).toEqual(LOOKS.map(() => 1));
		stack(Float32Array.from(LOOKS, (_, i) => (i === 3 ? 1 : 1e-6)), 0, heights);
		expect(heights.reduce((a, b) => a + b)).toBe(BAR);
		expect(Math.min(...heights)).toBe(1);
	});
});

describe('what is at a point', () => {
	const of = bars([{ start: 0, dur: 100, row: 5 }, { start: 40, dur: 10, row: 6 }, { start: 200, dur: 10, row: null }, { start: 300, dur: 10, row: 8 }]);
	it('is the shortest that covers it', () => {
		expect(of.at(1, 45, 0)).toBe(1);
		expect(of.at(1, 70, 0)).toBe(0);
		expect(of.at(1, 150, 0)).toBe(-1);
		expect(of.at(1, 212, 3)).toBe(2);
		expect(of.at(2, 45, 0)).toBe(-1);
	});
	it('is shared by the operations of a stretch', () => {
		const cell = { start: 10, dur: 10, row: null };
		const shared = bars([{ start: 0, dur: 5 }, { ...cell, busy: 0.2 }, { ...cell, op: 'write', busy: 0.5 }, { start: 20, dur: 10, row: null }]);
		expect(shared.sharing(1, 1)).toEqual([2, 1]);
	});
	it('has a next call of its own', () => {
		expect(of.callAfter(1, 150)).toBe(8);
		expect(of.callAfter(1, 400)).toBe(null);
		expect(of.callAfter(3, 0)).toBe(null);
	});
	it('is found among many as by a look at each', () => {
		let seed = 1;
		const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
		const rows = Array.from({ length: 2000 }, () => ({ start: Math.floor(random() * 1e6), dur: Math.floor(random() ** 4 * 1e5) }));
		const many = bars(rows, 0, 2e6);
		for (let i = 0; i < 500; i++) {
			const t = Math.floor(random() * 1.1e6);
			const got = many.at(1, t, 10);
			const covering = rows.filter((r) => r.start - 10 <= t && r.start + r.dur + 10 >= t);
			if (covering.length === 0) expect(got).toBe(-1);
			else expect(rows[got]!.dur).toBe(Math.min(...covering.map((r) => r.dur)));
		}
	});
});

describe('answers of different detail', () => {
	const whole = bars([{ start: 0, dur: 1000, row: null }], 0, 1000, 10);
	const near = bars([{ start: 400, dur: 10, op: 'write' }], 400, 500, 1);
	it('are drawn fine over coarse', () => {
		const all = new Uint32Array(10 * BAR);
		for (const layer of drawn([near, whole])) layer.raster(1, 0, 1000, all, colours, BAD, () => {}, 40);
		const row = all.slice(-10);
		expect([...row]).toEqual([READ, READ, READ, READ, WRITE, READ, READ, READ, READ, READ]);
	});
	it('are dropped where a finer one tells all that they tell', () => {
		expect(keep([near], bars([], 300, 600, 0.5))).toHaveLength(1);
		expect(keep([near], bars([], 450, 600, 0.5))).toHaveLength(2);
		expect(keep([near], bars([], 300, 600, 0.5, [2]))).toHaveLength(2);
	});
	it('are few, and the one of the whole stays', () => {
		let kept = [whole];
		for (let i = 0; i < 20; i++) kept = keep(kept, bars([], i * 50, i * 50 + 40, 1));
		expect(kept.length).toBeLessThanOrEqual(4);
		expect(kept).toContain(whole);
	});
});
