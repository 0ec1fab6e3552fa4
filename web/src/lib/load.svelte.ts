// SPDX-License-Identifier: Apache-2.0
// A question that is repeated whenever its parameters change; the previous answer stays until the next one arrives.

import { untrack } from 'svelte';
import { ApiError } from './api';
import { session } from './session.svelte';
import { state as shared, type View } from './state.svelte';

const WRONG = [400, 401, 404, 503]; // a repeated request would get the same answer
const AGAIN_MS = 400; // minimum interval of requests of a live page

export class Loader<D, T> {
	data = $state.raw<T | null>(null);
	error = $state<string | null>(null);
	busy = $state(false);
	private turn = $state(0);
	private wrong = $state(false);
	/** The view when `data` arrived. */
	private of: unknown = null;

	/** Repeats the question after an error; undefined if the question itself is wrong. */
	again = $derived(this.wrong ? undefined : () => void this.turn++);

	/**
	 * `depends` is read in an effect: when its result changes, or a live trace has grown, `ask` is called with it. If
	 * `depends` returns null, nothing is requested. A question that is no longer wanted is aborted; one that is still
	 * wanted, of a trace that has grown meanwhile or whose end is followed, is not: if it takes longer than the trace
	 * takes to grow, it would never be answered.
	 */
	constructor(depends: () => D | null, ask: (what: D, signal: AbortSignal) => Promise<T>) {
		let last = -Infinity;
		let timer: ReturnType<typeof setTimeout> | undefined;
		let flying: { control: AbortController; view: View; generation: string | undefined } | null = null;
		let next: D | null = null; // requested when the current answer has arrived

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
				const grew = flying !== null && generation !== flying.generation && session.continues(flying.view, shared.view);
				if (grew && what !== null) {
					next = what;
					return;
				}
				drop();
				if (what !== null) begin(what);
				else this.busy = false;
			});
		});
		$effect(() => drop); // when the owner is destroyed
	}

	/** False if the answer was abandoned. */
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
			if (this.of !== view) this.data = null; // the answer to another question does not apply to this one
		}
		this.busy = false;
		return true;
	}
}

/**
 * Resolves once the request has been answered or failed, but after at most `ms`, if given: for work that may start earlier but
 * better starts later.
 */
export function settled(asked: Promise<unknown>, ms?: number): Promise<void> {
	return new Promise((resolve) => {
		const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
		const done = () => (clearTimeout(timer), resolve());
		asked.then(done, done);
	});
}
