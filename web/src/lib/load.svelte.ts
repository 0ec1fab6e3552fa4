// SPDX-License-Identifier: Apache-2.0
// A question that is asked again whenever what it depends on changes; the answer before stays until the next is there.

import { untrack } from 'svelte';
import { ApiError } from './api';
import { session } from './session.svelte';
import { state as shared } from './state.svelte';

const WRONG = [400, 404, 503]; // asked again these would be answered the same
const AGAIN_MS = 400; // a live page asks at most so often

export class Loader<D, T> {
	data = $state.raw<T | null>(null);
	error = $state<string | null>(null);
	busy = $state(false);
	private turn = $state(0);
	private wrong = $state(false);
	/** What was looked at when `data` came. */
	private of: unknown = null;

	/** The same question once more, after an error; none where the question itself is wrong. */
	again = $derived(this.wrong ? undefined : () => void this.turn++);

	/**
	 * `depends` is read in an effect: when what it gives changes, or a live trace grew, `ask` is called with it. Null from
	 * `depends` asks nothing. A question that is no longer wanted is dropped; one that is wanted as before, of a trace that
	 * grew meanwhile, is not: where it takes longer than the trace needs to grow it would never be answered.
	 */
	constructor(depends: () => D | null, ask: (what: D, signal: AbortSignal) => Promise<T>) {
		let last = -Infinity;
		let timer: ReturnType<typeof setTimeout> | undefined;
		let flying: { control: AbortController; view: unknown; generation: string | undefined } | null = null;
		let next: D | null = null; // asked when what is on its way is there

		const drop = () => {
			clearTimeout(timer);
			flying?.control.abort();
			flying = next = null;
		};
		const begin = (what: D) => {
			const live = session.trace?.live;
			if (!live) this.busy = true;
			timer = setTimeout(() => {
				last = performance.now();
				const control = new AbortController();
				flying = { control, view: shared.view, generation: session.generation };
				void this.follow(ask(what, control.signal), control, flying.view).then((over) => {
					if (!over) return;
					const wanted = next;
					flying = next = null;
					if (wanted !== null) begin(wanted);
				});
			}, live ? Math.max(0, last + AGAIN_MS - performance.now()) : 0);
		};

		$effect(() => {
			const generation = session.generation;
			const what = depends();
			void this.turn;
			untrack(() => {
				const grew = flying !== null && generation !== flying.generation && shared.view === flying.view;
				if (grew && what !== null) {
					next = what;
					return;
				}
				drop();
				if (what !== null) begin(what);
				else this.busy = false;
			});
		});
		$effect(() => drop); // when who asked is gone
	}

	/** False where the answer was not waited for. */
	private async follow(asked: Promise<T>, control: AbortController, view: unknown): Promise<boolean> {
		this.busy = true;
		try {
			const data = await asked;
			if (control.signal.aborted) return false;
			this.data = data;
			this.of = view;
			this.error = null;
		} catch (e) {
			if (control.signal.aborted) return false;
			this.wrong = e instanceof ApiError && WRONG.includes(e.status);
			this.error = e instanceof Error ? e.message : String(e);
			if (this.of !== view) this.data = null; // the answer to another question is none to this one
		}
		this.busy = false;
		return true;
	}
}

/** Until it was answered, well or not, but no longer than `ms`, where given: what may begin without it, but better after it. */
export function settled(asked: Promise<unknown>, ms?: number): Promise<void> {
	return new Promise((resolve) => {
		const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
		const done = () => (clearTimeout(timer), resolve());
		asked.then(done, done);
	});
}
