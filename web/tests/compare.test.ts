// SPDX-License-Identifier: Apache-2.0
// The units in which sides are compared.
import { expect, test } from 'vitest';
import { change, diffOf, sideOf } from '../src/lib/compare';

test('programs are compared in the unit that weir diff chooses, times by how long they last', () => {
	const of = (kind: 'program' | 'time', a: string, b: string) => diffOf(sideOf(kind, a)!, sideOf(kind, b)!, {}).per;
	expect(of('program', 'dd', 'cat')).toBeUndefined();
	expect(of('time', '0_500', '500_1000')).toBe('run');
	expect(of('time', '0_500', '500_1001')).toBe('run'); // halves of an odd number of ns
	expect(of('time', '0_500', '500_1200')).toBe('second');
});

test('a change is written as weir diff writes it', () => {
	expect([23.4, 3.28, 2.5, 1.034, 0.9, 0.25, 0.01, 1e7].map(change)).toEqual(['x23', 'x3.3', '+150 %', '+3.4 %', '-10 %', '/4.0', '/100', 'x>1e6']);
});
