// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import type { Table } from '../src/lib/api';
import { meaningOf } from '../src/lib/meaning';
import { linesOf } from '../src/lib/result';

const table = (rows: [number, string, number][], number = 'n'): Table => ({
	origin: '0',
	columns: [
		{ name: 'window', type: 'time', unit: 'ns' },
		{ name: 'op', type: 'text', unit: '' },
		{ name: number, type: 'float', unit: '' },
	],
	rows: rows.map(([window, op, n]) => ({ window, op, [number]: n })),
	loss: { events: 0, causes: {} },
});

describe('what a question says of its answer', () => {
	it('is how long windows are and which numbers are 0 without calls', () => {
		const is = meaningOf('path ~ "a|b" || err is not null | by op every 100ms | rate() as n, rate(bytes), p99(dur), sum(held) / 100ms as t');
		expect(is.step).toBe(1e8);
		expect([...is.zero]).toEqual(['n', 'rate(bytes)', 't']);
		expect([...is.rates]).toEqual([
			['n', ''],
			['rate(bytes)', 'bytes'],
		]);
	});
	it('is the unit of a rate where nothing but calls, bytes or times is counted', () => {
		expect([...meaningOf('by every 1s | rate(dur), rate(bytes) / 1024 as kib, rate(bytes) * 8 as bits, rate(len(path))').rates]).toEqual([['rate(dur)', 'ns']]);
		const is = meaningOf("path ~ 'a | by b' | BY op EVERY 1s | rate(bytes) / 1024 as kib, sum(bytes) / n as share");
		expect(is.step).toBe(1e9);
		expect([...is.zero]).toEqual(['kib']);
	});
	it('is not that a window was empty where a later stage chose rows', () => {
		expect(meaningOf('by every 1s | count() as n | where n > 3').step).toBe(null);
		expect(meaningOf('by every 1s | count() as n | sort n').step).toBe(1e9);
		expect(meaningOf('by every 1s').zero.has('count')).toBe(true);
		expect(meaningOf('op == read | head 3').step).toBe(null);
	});
});

describe('lines', () => {
	const q = 'by op every 1s | rate() as n';
	it('go to 0 where no call was, and do not bridge it', () => {
		const of = linesOf(table([[0, 'a', 5], [1e9, 'b', 1], [9e9, 'a', 5]]), undefined, meaningOf(q), 0, 20e9);
		expect(of.x).toEqual([0, 1, 2, 8, 9, 10]);
		expect(of.series[0]).toMatchObject({ name: 'a', unit: '/s', y: [5, 0, 0, 0, 5, 0] });
		expect(of.series[1]!.y).toEqual([0, 1, 0, 0, 0, 0]);
	});
	it('of a window that began before what is shown begin there', () => {
		expect(linesOf(table([[0, 'a', 5]]), undefined, meaningOf(q), 7e8, 9e8).x).toEqual([0.7]);
	});
	it('have a hole where there is no percentile', () => {
		const of = linesOf(table([[0, 'a', 5], [9e9, 'a', 5]], 'p99(dur)'), undefined, meaningOf('by op every 1s | p99(dur)'), 0, 9.5e9);
		expect(of.series[0]!.y).toEqual([5, null, null, 5]);
	});
	it('are the rows alone where those were cut', () => {
		const of = linesOf({ ...table([[0, 'a', 5], [9e9, 'a', 5]]), truncated: true }, undefined, meaningOf(q), 0, 20e9);
		expect(of.x).toEqual([0, 9]);
	});
});
