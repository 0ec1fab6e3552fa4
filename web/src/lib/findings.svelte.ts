// SPDX-License-Identifier: Apache-2.0
// The findings of `weir diagnose` in the trace: requested once, for the page and for the count in the navigation.

import { api, type Diagnosis, type Finding } from './api';
import { session } from './session.svelte';
import { state as shared } from './state.svelte';

const SMALL = 2e6; // calls: for a larger trace the pass over all calls takes longer than a glance, so it waits for a request

class Findings {
	/** Number of findings; null: unknown. */
	count = $state<number | null>(null);
	/** The most expensive one; null: none, or unknown. */
	worst = $state.raw<Finding | null>(null);
	private asked = false;

	learn(d: Diagnosis) {
		this.count = d.rows.length;
		this.worst = d.rows[0] ?? null;
	}

	/** Opened without a page, and something is wrong: this becomes the first page. */
	async first() {
		const trace = session.trace;
		if (this.asked || !trace || trace.live || trace.ops > SMALL) return;
		this.asked = true;
		const before = shared.view;
		try {
			this.learn(await api.diagnose({}));
		} catch {
			return; // the page reports the reason
		}
		const untouched = shared.view === before && before.page === 'overview' && location.search === '';
		if (this.count && untouched) shared.go({ page: 'findings' }, true);
	}
}

export const findings = new Findings();

/** The expression of a pipeline's first step, which selects the calls and can be used as the page's filter. Null: it selects none. */
export function selectionOf(query: string): string | null {
	let quoted = false;
	let end = query.length;
	for (let i = 0; i < query.length; i++) {
		if (quoted && query[i] === '\\') i++;
		else if (query[i] === '"') quoted = !quoted;
		else if (!quoted && query[i] === '|' && query[i + 1] !== '|' && query[i - 1] !== '|') {
			end = i;
			break;
		}
	}
	const step = query.slice(0, end).trim();
	if (/^(from|by|sort|head|select)\b/.test(step)) return null;
	return step.replace(/^where\s+/, '') || null;
}
