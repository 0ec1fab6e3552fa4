// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from 'vitest';
import type { StackRow } from '../src/lib/api';
import { flameBoxes, flameFind, flameMatched, flameTree } from '../src/lib/flame';

const row = (stack: string, time: number, kernel: string | null = null): StackRow => ({ stack, kernel, time, calls: 1, errors: 0, bytes: 0, cut: 0 });
const rows = [row('main;load;read', 30), row('main;load;read', 10, 'do_read;schedule'), row('main;save;write', 50), row('main;save', 10)];

describe('flame graph', () => {
	test('sums of a node are those below it and its own', () => {
		const root = flameTree(rows, 'time');
		expect(root.sum).toBe(100);
		const check = (n: typeof root): number => {
			const below = n.children.reduce((sum, c) => sum + check(c), 0);
			expect(below + n.own).toBe(n.sum);
			return n.sum;
		};
		check(root);
		expect(flameFind(root, ['main', 'save']).own).toBe(10);
		expect(root.children[0]!.children.map((c) => c.name)).toEqual(['save', 'load']);
	});
	test('functions of the kernel are others than those of the program', () => {
		const read = flameFind(flameTree(rows, 'time'), ['main', 'load', 'read']);
		expect(read.kernel).toBe(false);
		expect(read.children.map((c) => [c.name, c.kernel, c.sum])).toEqual([['do_read', true, 10]]);
	});
	test('a path that is gone leads to what is left of it', () => {
		const root = flameTree(rows, 'time');
		expect(flameFind(root, ['main', 'nothing', 'read']).name).toBe('main');
		expect(flameFind(root, []).name).toBe('all');
	});
	test('boxes are within those above them', () => {
		const root = flameTree(rows, 'time');
		const boxes = flameBoxes(flameFind(root, ['main', 'load']), 0.001);
		expect(boxes.filter((b) => b.width === 1).map((b) => b.node.name)).toEqual(['all', 'main', 'load', 'read']);
		for (const b of flameBoxes(root, 0)) expect(b.from + b.width).toBeLessThanOrEqual(1.0000001);
		expect(flameBoxes(root, 0.3).map((b) => b.node.name)).toEqual(['all', 'main', 'save', 'write', 'load', 'read']);
	});
	test('what is found counts once', () => {
		const root = flameTree([row('a;read;b;read', 7), row('a;write', 3)], 'time');
		expect(flameMatched(root, 'READ')).toBe(7);
		expect(flameMatched(root, '')).toBe(0);
	});
	test('no weight, no boxes', () => {
		expect(flameTree(rows, 'bytes').sum).toBe(0);
	});
});
