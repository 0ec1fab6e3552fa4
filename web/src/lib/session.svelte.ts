// SPDX-License-Identifier: Apache-2.0
// The trace that is served: read once, and again whenever the server says that it grew.

import { api, events, type TraceInfo } from './api';
import { damage } from './damage.svelte';
import { state as shared } from './state.svelte';

const NEWS_MS = 8000;
const LOOK_MS = 60000; // how often a page that asks nothing asks whether the trace is still what it shows

class Session {
	trace = $state.raw<TraceInfo | null>(null);
	/** Another one whenever it grew, or more is known to be damaged; the same where a document came again. */
	generation = $derived(this.trace ? `${this.trace.generation} ${damage.known}` : undefined);
	error = $state<string | null>(null);
	/** False while the event stream of a live trace or a folder is broken. */
	connected = $state(true);
	/** What came while the page was open, for a while. */
	news = $state('');
	private forgetting: ReturnType<typeof setTimeout> | undefined;
	private looking = false;

	async start() {
		try {
			this.trace = await api.trace();
		} catch (e) {
			this.error = e instanceof Error ? e.message : String(e);
			return;
		}
		damage.changed = () => void this.look();
		document.addEventListener('visibilitychange', () => void this.look());
		setInterval(() => void this.look(), LOOK_MS);
		if (this.trace.follow)
			await events({
				trace: (t) => this.grow(t),
				state: (up) => (this.connected = up),
			});
	}

	/** What an event stream would say, of a trace that has none. */
	private async look() {
		if (document.hidden || this.looking) return;
		this.looking = true;
		try {
			this.grow(await api.trace());
		} catch {
			// the next question says why
		}
		this.looking = false;
	}

	private grow(now: TraceInfo) {
		const before = this.trace!;
		const known = new Set(before.traces.map((t) => t.path));
		const came = now.traces.filter((t) => !known.has(t.path)).map((t) => t.path.split('/').pop());
		// a trace that began earlier than all before it: what is looked at stays what it was
		const later = Number(BigInt(before.origin) - BigInt(now.origin));
		if (later !== 0) {
			const { from, to } = shared.view;
			if (from !== undefined || to !== undefined) shared.range(from === undefined ? from : from + later, to === undefined ? to : to + later, true);
		}
		this.trace = now;
		if (!came.length) return;
		this.news = came.length === 1 ? `${came[0]} came` : `${came.length} traces came`;
		clearTimeout(this.forgetting);
		this.forgetting = setTimeout(() => (this.news = ''), NEWS_MS);
	}
}

export const session = new Session();

/** The names of the machines, each once. */
export const hostsOf = (trace: TraceInfo): string[] => [...new Set(trace.hosts.map((h) => h.name))].filter((n) => n !== '').sort();

/** The address of the store whose rows are shown; undefined where they are those of trace files. */
export const storeOf = (trace: TraceInfo): string | undefined => trace.traces.find((t) => t.path.includes('://'))?.path;
