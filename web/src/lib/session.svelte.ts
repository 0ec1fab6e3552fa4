// SPDX-License-Identifier: Apache-2.0
// The trace that is served: read once, and again whenever the server says that it grew.

import { api, events, type TraceInfo } from './api';
import { damage } from './damage.svelte';
import { state as shared } from './state.svelte';

const NEWS_MS = 8000;
const KEPT_NS = 5e9; // of what was seen, for the pace
const LOOK_MS = 60000; // how often a page that asks nothing asks whether the trace is still what it shows

class Session {
	trace = $state.raw<TraceInfo | null>(null);
	/** Another one whenever it grew, or more is known to be damaged; the same where a document came again. */
	generation = $derived(this.trace ? `${this.trace.generation} ${damage.known}` : undefined);
	error = $state<string | null>(null);
	/** False while the event stream of a live trace or a folder is broken. */
	connected = $state(true);
	/** Nothing that comes is shown until it is wanted again; `kept` is then the newest of it. */
	paused = $state(false);
	kept = $state.raw<TraceInfo | null>(null);
	/** Calls that ended a second, over the last second of the recording that is known; null: not known. */
	pace = $state<number | null>(null);
	/** The screen follows the end of a live trace, so many ns of it; null: it does not. */
	following = $state<number | null>(null);
	private seen: { last: number; ops: number }[] = [];
	private followed: { from: number | undefined; to: number | undefined } | null = null;
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

	pause() {
		this.paused = !this.paused;
		const now = this.kept;
		this.kept = null;
		if (!this.paused && now) this.grow(now);
	}

	/** Null: all of it is shown again. */
	follow(span: number | null) {
		this.following = span;
		this.followed = null;
		if (span === null) shared.range(undefined, undefined);
		else this.move();
	}

	private move() {
		const trace = this.trace!;
		if (this.following === null || !trace.live) return;
		const { from, to } = shared.view;
		// who looked at another range meanwhile stays there
		if (this.followed && (from !== this.followed.from || to !== this.followed.to)) {
			this.following = null;
			return;
		}
		this.followed = { from: Math.round(Math.max(trace.first, trace.last - this.following)), to: Math.round(trace.last) };
		shared.range(this.followed.from, this.followed.to, true);
	}

	private measure({ last, ops }: TraceInfo) {
		this.seen = [...this.seen.filter((s) => s.last < last && s.last > last - KEPT_NS), { last, ops }];
		const since = this.seen.findLast((s) => s.last <= last - 1e9) ?? this.seen[0]!;
		this.pace = last > since.last ? ((ops - since.ops) * 1e9) / (last - since.last) : null;
	}

	private grow(now: TraceInfo) {
		if (this.paused) {
			this.kept = now;
			return;
		}
		const before = this.trace!;
		this.measure(now);
		const known = new Set(before.traces.map((t) => t.path));
		const came = now.traces.filter((t) => !known.has(t.path)).map((t) => t.path.split('/').pop());
		// a trace that began earlier than all before it: what is looked at stays what it was
		const later = Number(BigInt(before.origin) - BigInt(now.origin));
		if (later !== 0) {
			const { from, to } = shared.view;
			if (from !== undefined || to !== undefined) shared.range(from === undefined ? from : from + later, to === undefined ? to : to + later, true);
		}
		this.trace = now;
		this.move();
		if (!came.length) return;
		this.news = came.length === 1 ? `${came[0]} added` : `${came.length} traces added`;
		clearTimeout(this.forgetting);
		this.forgetting = setTimeout(() => (this.news = ''), NEWS_MS);
	}
}

export const session = new Session();

/** The names of the machines, each once. */
export const hostsOf = (trace: TraceInfo): string[] => [...new Set(trace.hosts.map((h) => h.name))].filter((n) => n !== '').sort();

/** The address of the store whose rows are shown; undefined where they are those of trace files. */
export const storeOf = (trace: TraceInfo): string | undefined => trace.traces.find((t) => t.path.includes('://'))?.path;
