// SPDX-License-Identifier: Apache-2.0
// A question that is asked again whenever what it depends on changes; the answer before stays until the next is there.

import { ApiError } from './api';
import { session } from './session.svelte';

const AGAIN_MS = 400; // a live page asks at most so often

export class Loader<D, T> {
	data = $state.raw<T | null>(null);
	error = $state<string | null>(null);
	busy = $state(false);

	/**
	 * `depends` is read in an effect: when what it gives changes, or a live trace grew, `ask` is called with it. Null from
	 * `depends` asks nothing.
	 */
	constructor(depends: () => D | null, ask: (what: D, signal: AbortSignal) => Promise<T>) {
		let last = -Infinity;
		$effect(() => {
			void session.trace?.generation;
			const what = depends();
			if (what === null) return;
			if (!session.trace?.live) this.busy = true;
			const control = new AbortController();
			const timer = setTimeout(
				() => {
					last = performance.now();
					this.follow(ask(what, control.signal), control);
				},
				session.trace?.live ? Math.max(0, last + AGAIN_MS - performance.now()) : 0,
			);
			return () => {
				clearTimeout(timer);
				control.abort();
			};
		});
	}

	private follow(asked: Promise<T>, control: AbortController) {
		this.busy = true;
		asked.then(
			(data) => {
				if (control.signal.aborted) return;
				this.data = data;
				this.error = null;
				this.busy = false;
			},
			(e: unknown) => {
				if (control.signal.aborted) return;
				this.error = e instanceof ApiError || e instanceof Error ? e.message : String(e);
				this.busy = false;
			},
		);
	}
}
