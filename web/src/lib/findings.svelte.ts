// SPDX-License-Identifier: Apache-2.0
// What `weir diagnose` finds in the trace: asked once, for the page and for the count in the navigation.

import { api, type Diagnosis, type Finding } from './api';
import { session } from './session.svelte';
import { state as shared } from './state.svelte';

const SMALL = 2e6; // calls: of a trace with more the pass over all of them takes longer than a look, and waits until it is asked for

class Findings {
	/** How many; null: not known. */
	count = $state<number | null>(null);
	/** The one that costs most; null: there is none, or it is not known. */
	worst = $state.raw<Finding | null>(null);
	private asked = false;

	learn(d: Diagnosis) {
		this.count = d.rows.length;
		this.worst = d.rows[0] ?? null;
	}

	/** Where the first page is looked at and something is wrong, that is the first page. */
	async first() {
		const trace = session.trace;
		if (this.asked || !trace || trace.live || trace.ops > SMALL) return;
		this.asked = true;
		const before = shared.view;
		try {
			this.learn(await api.diagnose({}));
		} catch {
			return; // the page says why
		}
		const untouched = shared.view === before && before.page === 'overview' && location.search === '';
		if (this.count && untouched) shared.go({ page: 'findings' }, true);
	}
}

export const findings = new Findings();

/** The expression of a pipeline's first step, which selects the calls: what a page can filter by. Null: it selects none. */
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
