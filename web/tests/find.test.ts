// SPDX-License-Identifier: Apache-2.0
// What is typed into the search of the timeline.
import { describe, expect, it } from 'vitest';
import { searched } from '../src/lib/find';

describe('a search', () => {
	it('is for a word in names, for a pattern, or for a condition', () => {
		expect(searched('  ')).toBe('');
		expect(searched('fsync')).toBe('op ~ "*fsync*" || file ~ "*fsync*" || comm ~ "*fsync*"');
		expect(searched('*.log')).toBe('op ~ "*.log" || file ~ "*.log" || comm ~ "*.log"');
		expect(searched('dur > 1ms')).toBe('dur > 1ms');
		expect(searched('err is not null')).toBe('err is not null');
	});
	it('is for numbers of threads and processes, too', () => expect(searched('4711')).toContain('|| tid == 4711 || pid == 4711'));
	it('keeps what is typed in quotes', () => expect(searched('a"b')).toBe('op ~ "*a\\"b*" || file ~ "*a\\"b*" || comm ~ "*a\\"b*"'));
});
