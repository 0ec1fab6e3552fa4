// SPDX-License-Identifier: Apache-2.0
// The variables of dashboards.
import { describe, expect, it } from 'vitest';
import { asDashboard, conditionsOf, ownOf, valueOf, variablesOf } from '../src/lib/dashboards';

describe('variables of a dashboard', () => {
	it('are both where its file has none, and those that it declares', () => {
		expect(variablesOf(asDashboard({ tiles: [] }, 'a'))).toEqual([{ name: 'process' }, { name: 'folder' }]);
		expect(asDashboard({ variables: [] }, 'a').variables).toEqual([]);
		expect(asDashboard({ variables: [{ name: 'folder', default: '/var' }, null, 'x', { name: 'host' }, { name: 'process', default: 7 }] }, 'a').variables).toEqual([{ name: 'process' }, { name: 'folder', default: '/var' }]);
	});
	it('have the value of the address, or their default, or are all', () => {
		const folder = { name: 'folder' as const, default: '/var' };
		expect(valueOf(folder, {})).toBe('/var');
		expect(valueOf(folder, { folder: '/srv' })).toBe('/srv');
		expect(valueOf(folder, { folder: 'all' })).toBe('');
		expect(ownOf(folder, '')).toEqual({ folder: 'all' });
		expect(ownOf(folder, '/var')).toEqual({ folder: undefined });
		expect(ownOf({ name: 'process' }, '')).toEqual({ process: undefined });
	});
	it('put conditions to questions', () => {
		const both = [{ name: 'process' as const, default: 'redis-server' }, { name: 'folder' as const }];
		expect(conditionsOf(both, {})).toBe('process ~ "redis-server *"');
		expect(conditionsOf(both, { process: '12', folder: '/var/' })).toBe('pid == 12 && path ~ "/var/**"');
		expect(conditionsOf([], { process: '12' })).toBe('');
	});
});
