// SPDX-License-Identifier: Apache-2.0
// Questions that were asked and kept, in this browser.

export interface Saved {
	title: string;
	q: string;
	language: 'query' | 'sql';
}

const KEY = 'weir-saved';

function read(): Saved[] {
	try {
		const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
		return Array.isArray(kept) ? kept.filter((s): s is Saved => typeof s?.title === 'string' && typeof s?.q === 'string') : [];
	} catch {
		return [];
	}
}

class SavedQueries {
	list = $state<Saved[]>(read());

	keep(saved: Saved) {
		this.list = [...this.list.filter((s) => s.title !== saved.title), saved];
		localStorage.setItem(KEY, JSON.stringify(this.list));
	}

	drop(title: string) {
		this.list = this.list.filter((s) => s.title !== title);
		localStorage.setItem(KEY, JSON.stringify(this.list));
	}
}

export const saved = new SavedQueries();

export const examples: Saved[] = [
	{ language: 'query', title: 'Slowest calls', q: 'class != wait | select start, dur, comm, op, file | sort dur desc | head 100' },
	{ language: 'query', title: 'By operation', q: 'by op | count(), sum(bytes), sum(dur) as time, p50(dur), p99(dur), hist(dur)' },
	{ language: 'query', title: 'Rate by operation', q: 'by op every $window | count()' },
	{ language: 'query', title: 'Latency over time', q: 'class in (data, meta, sync) | by every $window | hist(dur)' },
	{ language: 'query', title: 'By file', q: 'by file | count(), sum(bytes), sum(dur) as time, p99(dur) | sort time desc | head 50' },
	{ language: 'query', title: 'Errors', q: 'err is not null | by op, err, file | count()' },
	{ language: 'query', title: 'Folders written to', q: 'op ~ "*write*" | by dir(path) as folder | sum(bytes), count() | sort sum desc' },
	{ language: 'sql', title: 'SQL: calls by process', q: 'SELECT pid, comm, count(*) AS calls, sum(bytes) AS bytes FROM op_named GROUP BY ALL ORDER BY calls DESC LIMIT 20' },
];
