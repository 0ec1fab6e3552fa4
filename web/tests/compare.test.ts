// SPDX-License-Identifier: Apache-2.0
// The units in which sides are compared.
import { expect, test } from 'vitest';
import { diffOf, sideOf } from '../src/lib/compare';

test('programs are compared in the unit that weir diff chooses, times by how long they last', () => {
	const of = (kind: 'program' | 'time', a: string, b: string) => diffOf(sideOf(kind, a)!, sideOf(kind, b)!, {}).per;
	expect(of('program', 'dd', 'cat')).toBeUndefined();
	expect(of('time', '0_500', '500_1000')).toBe('run');
	expect(of('time', '0_500', '500_1200')).toBe('second');
});
