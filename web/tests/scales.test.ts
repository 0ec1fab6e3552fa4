// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { histBucket, histLower, histWidth, linear, linearTicks, logarithmic } from '../src/lib/scales';
import { formatView, parseView, quote } from '../src/lib/state.svelte';

describe('scales', () => {
	it('go there and back', () => {
		const s = linear(1000, 3000, 50, 250);
		expect(s.at(2000)).toBe(150);
		expect(s.back(150)).toBe(2000);
		const l = logarithmic(1, 1e9, 0, 900);
		expect(l.at(1e3)).toBeCloseTo(300);
		expect(l.back(300)).toBeCloseTo(1e3);
	});
	it('have round ticks', () => {
		expect(linearTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
		expect(linearTicks(3, 3, 5)).toEqual([]);
		expect(logarithmic(100, 1e6, 0, 1).ticks(5)).toEqual([1e2, 1e3, 1e4, 1e5, 1e6]);
	});
	it('know the buckets of the histogram', () => {
		for (const v of [0, 1, 15, 16, 17, 31, 32, 33, 1000, 65535, 65536, 1e6, 123456789, 2 ** 40 - 1, 2 ** 40]) {
			const b = histBucket(v);
			expect(histLower(b)).toBeLessThanOrEqual(v);
			expect(histLower(b) + histWidth(b)).toBeGreaterThan(v);
		}
		expect(histBucket(histLower(300))).toBe(300);
	});
});

describe('a view', () => {
	it('survives the address', () => {
		const view = { page: 'timeline', from: 5, to: 17, filter: 'path ~ "a&b=c"', own: { row: '12', sort: 'p99' } };
		expect(parseView(formatView(view))).toEqual(view);
		expect(formatView(parseView(''))).toBe('');
		expect(parseView('?from=x&to=1e3')).toMatchObject({ from: undefined, to: undefined });
	});
	it('quotes what names hold', () => expect(quote('a"b\\c')).toBe('"a\\"b\\\\c"'));
});
