// SPDX-License-Identifier: Apache-2.0
// The served trace: read once, and again whenever the server reports that it has grown.

import { api, events, type TraceInfo } from './api';
import { damage } from './damage.svelte';
import { formatView, state as shared, type View } from './state.svelte';

const NEWS_MS = 8000;
const KEPT_NS = 5e9; // history for computing the pace
const LOOK_MS = 60000; // how often an idle page checks that the trace is still the one it shows

class Session {
	trace = $state.raw<TraceInfo | null>(null);
	/** Changes whenever the trace has grown, or more damage is known; stays the same if a document is merely repeated. */
	generation = $derived(this.trace ? `${this.trace.generation} ${damage.known}` : undefined);
	error = $state<string | null>(null);
	/** False while the event stream of a live trace or a folder is broken. */
	connected = $state(true);
	/** Why not, as far as a request shows. */
	lost = $state<string | null>(null);
	/** New data is held back until the user continues; `kept` is then the newest of it. */
	paused = $state(false);
	kept = $state.raw<TraceInfo | null>(null);
	/** Calls per second, over the last known second of the recording; null: unknown. */
	pace = $state<number | null>(null);
	/** The screen follows the end of a live trace, over this many ns; null: it does not. */
	following = $state<number | null>(null);
	private seen: { last: number; ops: number }[] = [];
	private followed: { from: number | undefined; to: number | undefined } | null = null;
	/** Views that came of following the end: the span that each shows. */
	private moves = new WeakMap<View, number>();
	/** What happened while the page was open, shown for a while. */
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
				state: (up, over) => void this.hears(up, over),
			});
	}

	private async hears(up: boolean, over?: boolean) {
		const known = this.lost !== null;
		this.connected = up;
		if (up) this.lost = null;
		else if (over || !known)
			await api.trace().catch((e) => {
				if (!this.connected) this.lost = e instanceof Error ? e.message : String(e);
			});
	}

	/** Polls what an event stream would report, for a trace without one. */
	private async look() {
		if (document.hidden || this.looking) return;
		this.looking = true;
		try {
			this.grow(await api.trace());
		} catch {
			// the next question reports the reason
		}
		this.looking = false;
	}

	pause() {
		this.paused = !this.paused;
		const now = this.kept;
		this.kept = null;
		if (!this.paused && now) this.grow(now);
	}

	/** Null: shows everything again. */
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
		// a user who moved to another range meanwhile stays there
		if (this.followed && (from !== this.followed.from || to !== this.followed.to)) {
			this.following = null;
			return;
		}
		this.followed = { from: Math.round(Math.max(trace.first, trace.last - this.following)), to: Math.round(trace.last) };
		shared.range(this.followed.from, this.followed.to, true);
		this.moves.set(shared.view, this.following);
	}

	/** True if the later view is the earlier one, or differs only because the screen followed the end of the trace. */
	continues(earlier: View, later: View): boolean {
		const span = this.moves.get(later);
		return earlier === later || (span !== undefined && span === this.moves.get(earlier) && formatView({ ...earlier, from: later.from, to: later.to } as View) === formatView(later));
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
		// a trace was added that began earlier than all others: the viewed range stays the same
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

/** The distinct names of the machines. */
export const hostsOf = (trace: TraceInfo): string[] => [...new Set(trace.hosts.map((h) => h.name))].filter((n) => n !== '').sort();

/** The address of the store whose rows are shown; undefined for trace files. */
export const storeOf = (trace: TraceInfo): string | undefined => trace.traces.find((t) => t.path.includes('://'))?.path;
