// SPDX-License-Identifier: Apache-2.0
// The trace that is served: read once, and again whenever the server says that it grew.

import { api, events, type TraceInfo } from './api';

class Session {
	trace = $state.raw<TraceInfo | null>(null);
	error = $state<string | null>(null);
	/** False while the event stream of a live trace is broken. */
	connected = $state(true);

	async start() {
		try {
			this.trace = await api.trace();
		} catch (e) {
			this.error = e instanceof Error ? e.message : String(e);
			return;
		}
		if (this.trace.live)
			await events({
				trace: (t) => (this.trace = t),
				state: (up) => (this.connected = up),
			});
	}
}

export const session = new Session();
