// SPDX-License-Identifier: Apache-2.0
// Limits concurrent requests: two at once on two cores are answered as fast as six, and the first one sooner.

export class Turns {
	private waiting: { order: number; begin: () => void }[] = [];
	private running = 0;

	constructor(private readonly most: number) {}

	/** Runs `what` when there is room; among those waiting, the lowest `order` first. An aborted one never runs. */
	async run<T>(order: number, signal: AbortSignal, what: () => Promise<T>): Promise<T> {
		await this.enter(order, signal);
		try {
			return await what();
		} finally {
			this.running--;
			this.next();
		}
	}

	private enter(order: number, signal: AbortSignal): Promise<void> {
		return new Promise((resolve, reject) => {
			const waits = { order, begin: resolve };
			const leave = () => {
				const at = this.waiting.indexOf(waits);
				if (at < 0) return; // it is running
				this.waiting.splice(at, 1);
				reject(signal.reason);
			};
			if (signal.aborted) return reject(signal.reason);
			signal.addEventListener('abort', leave, { once: true });
			this.waiting.push(waits);
			// requests from the same moment are sorted first
			queueMicrotask(() => this.next());
		});
	}

	private next() {
		while (this.running < this.most && this.waiting.length) {
			const first = this.waiting.reduce((a, b) => (b.order < a.order ? b : a));
			this.waiting.splice(this.waiting.indexOf(first), 1);
			this.running++;
			first.begin();
		}
	}
}
