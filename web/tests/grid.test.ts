// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { asDashboard, nameOf } from '../src/lib/dashboards';
import { COLUMNS, fit, settle, type Box } from '../src/lib/grid';

const box = (x: number, y: number, w: number, h: number): Box => ({ x, y, w, h });
const overlap = (a: Box, b: Box) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

describe('the grid of a dashboard', () => {
	it('leaves what lies well where it is', () => {
		const good = [box(0, 0, 6, 4), box(6, 0, 6, 4), box(0, 4, 12, 3)];
		expect(settle(good)).toEqual(good);
	});
	it('closes gaps', () => expect(settle([box(0, 3, 4, 2), box(0, 9, 4, 2)])).toEqual([box(0, 0, 4, 2), box(0, 2, 4, 2)]));
	it('pushes down what is in the way of the one that is moved', () => {
		expect(settle([box(0, 0, 6, 4), box(0, 0, 6, 2)], 1)).toEqual([box(0, 2, 6, 4), box(0, 0, 6, 2)]);
	});
	it('keeps sizes and places within the columns', () => {
		expect(fit(box(11, -5, 4, 1))).toEqual(box(8, 0, 4, 2));
		expect(fit(box(NaN, NaN, 99, Infinity))).toEqual(box(0, 0, COLUMNS, 2));
	});
	it('never lets two overlap, wherever they are put', () => {
		let seed = 7;
		const random = (n: number) => (seed = (seed * 48271) % 2147483647) % n;
		for (let round = 0; round < 300; round++) {
			const boxes = Array.from({ length: 1 + random(9) }, () => box(random(14), random(20), random(14), random(8)));
			const moved = random(boxes.length);
			const out = settle(boxes, moved);
			for (let i = 0; i < out.length; i++) {
				expect(out[i]!.x + out[i]!.w).toBeLessThanOrEqual(COLUMNS);
				for (let j = 0; j < i; j++) expect(overlap(out[i]!, out[j]!)).toBe(false);
			}
			expect(settle(out)).toEqual(out);
		}
	});
});

describe('a dashboard from a file of anyone', () => {
	it('is one, whatever the file holds', () => {
		for (const given of [null, 5, 'x', [], {}, { tiles: 'x' }, { tiles: [null, 5, {}, { q: 7 }] }]) expect(asDashboard(given, 'n')).toEqual({ version: 1, title: 'n', tiles: [] });
	});
	it('keeps what is right and mends the rest', () => {
		const d = asDashboard({ title: 'T', tiles: [{ q: 'count()', chart: 'evil', x: 'a', w: 3, h: 3, language: 'sql' }] }, 'n');
		expect(d.title).toBe('T');
		expect(d.tiles).toEqual([{ title: 'count()', q: 'count()', chart: 'table', language: 'sql', x: 0, y: 0, w: 3, h: 3 }]);
	});
	it('has a name that a file may have', () => {
		expect(nameOf('My service!')).toBe('My-service');
		expect(nameOf('../../etc')).toBe('etc');
		expect(nameOf('äöü')).toBe('dashboard');
		expect(nameOf('x'.repeat(99))).toHaveLength(64);
	});
});
