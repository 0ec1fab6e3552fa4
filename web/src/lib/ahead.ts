// SPDX-License-Identifier: Apache-2.0
// What a page asks first is asked when the address is known, and not when its script, the trace and the frame around it
// are there, a quarter of a second later. The page's own question then finds the answer on its way (api.ts).

import { askAhead, hasToken } from './api';
import { scopeOf, type View } from './state.svelte';

/** Buckets of time of overview and heat map. */
export const BUCKETS = 240;
/** In which a part of the overview is wanted, where a filter asks for what only calls tell; the next may take longer, up to the most. */
export const WITHIN_MS = 500;
export const WITHIN_MOST_MS = 4000;
/** Rows of an answer that Explore shows. */
export const ROWS = 10000;

/** The same questions as the pages ask: the tests of the pages count that nothing is asked twice. */
export function askFirst(view: View): void {
	const scope = scopeOf(view);
	const { own } = view;
	if (!hasToken()) return;
	if (view.page === 'overview') askAhead('overview', { ...scope, width: BUCKETS, brief: 1, within: WITHIN_MS });
	else if (view.page === 'timeline') {
		// which lanes of a part of the trace are wanted is known with the trace
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
