// SPDX-License-Identifier: Apache-2.0
// Sends a page's first requests when the address is known, a quarter of a second before its script, the trace and the frame around
// it are loaded. The page's own request then takes over the answer (api.ts).

import { askAhead, hasToken } from './api';
import { scopeOf, type View } from './state.svelte';

/** Time buckets of overview and heat map. */
export const BUCKETS = 240;
/** Time limit of a partial overview, if a filter requires reading calls; later parts get more time, up to the maximum. */
export const WITHIN_MS = 500;
export const WITHIN_MOST_MS = 4000;
/** Rows of an answer in Explore. */
export const ROWS = 10000;

/** The same requests as the pages make: the tests of the pages check that nothing is requested twice. */
export function askFirst(view: View): void {
	const scope = scopeOf(view);
	const { own } = view;
	if (!hasToken()) return;
	if (view.page === 'overview') askAhead('overview', { ...scope, width: BUCKETS, brief: 1, within: WITHIN_MS });
	else if (view.page === 'timeline') {
		// the lanes of a part of the trace are known only with the trace
		if (own.busy !== undefined || (scope.from === undefined && scope.to === undefined)) askAhead('lanes', own.busy === '1' ? scope : { filter: scope.filter });
	}
	else if (view.page === 'latency') askAhead('latency', { ...scope, width: BUCKETS });
	else if (view.page === 'files' && own.file !== undefined) askAhead(`file/${Number(own.file)}`, scope);
	else if (view.page === 'files') askAhead('files', scope);
	else if (view.page === 'explore' && own.q !== undefined && own.lang !== 'sql') askAhead('query', { q: own.q, ...scope, limit: ROWS });
	else if (view.page === 'dashboards') {
		askAhead('dashboards');
		if (own.name !== undefined) askAhead(`dashboards/${encodeURIComponent(own.name)}`);
	}
}
