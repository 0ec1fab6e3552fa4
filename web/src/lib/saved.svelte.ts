// SPDX-License-Identifier: Apache-2.0
// Saved questions: files next to the trace, like dashboards. If the trace's folder is not writable, this browser keeps them, for
// this trace.

import { ApiError, get } from './api';
import { nameOf } from './dashboards';
import { session } from './session.svelte';

export interface Saved {
	title: string;
	q: string;
	language: 'query' | 'sql';
	/** File name; without one the question is only in this browser. */
	name?: string;
	/** For predefined questions: the table that they need. */
	of?: string;
}

const EVERY_TRACE = 'weir-saved'; // where all were kept before they became files
const TITLE_MAX = 50; // characters: the label of a button

function fromBrowser(key: string): Saved[] {
	try {
		const kept: unknown = JSON.parse(localStorage.getItem(key) ?? '[]');
		if (!Array.isArray(kept)) return [];
		return kept
			.filter((s) => typeof s?.title === 'string' && typeof s?.q === 'string')
			.map((s: Saved) => ({ title: s.title, q: s.q, language: s.language === 'sql' ? 'sql' : 'query' }));
	} catch {
		return [];
	}
}

function toBrowser(key: string, list: Saved[]) {
	if (list.length) localStorage.setItem(key, JSON.stringify(list.map(({ title, q, language }) => ({ title, q, language }))));
	else localStorage.removeItem(key);
}

const clip = (title: string) => [...title].slice(0, TITLE_MAX).join('');

class SavedQueries {
	list = $state.raw<Saved[]>([]);
	/** A note on where they are kept. */
	note = $state('');
	private writable = true;

	private key = () => `${EVERY_TRACE} ${session.trace?.traces[0]?.path ?? ''}`;

	async load() {
		try {
			const answer = (await (await get('queries')).json()) as { queries: Saved[]; writable: boolean };
			this.list = answer.queries;
			this.writable = answer.writable;
		} catch (e) {
			this.writable = false;
			this.note = `queries saved next to the trace cannot be read: ${e instanceof Error ? e.message : String(e)}`;
		}
		for (const key of [EVERY_TRACE, this.key()]) await this.takeOver(key);
	}

	/** Moves this browser's questions to files, once; if that is impossible, they stay and are shown. */
	private async takeOver(key: string) {
		const left: Saved[] = [];
		let taken = 0;
		for (const s of fromBrowser(key)) {
			if (this.list.some((o) => o.name !== undefined && o.q === s.q && o.language === s.language)) continue;
			if (this.writable && (await this.toFile({ ...s, title: this.free(clip(s.title)) }))) taken++;
			else left.push(s);
		}
		toBrowser(key, left);
		this.list = [...this.list, ...left];
		if (taken) this.note = `${taken === 1 ? 'a query' : `${taken} queries`} saved in this browser ${taken === 1 ? 'is' : 'are'} now saved next to the trace`;
	}

	private free(title: string): string {
		for (let i = 2, as = title; ; as = `${[...title].slice(0, TITLE_MAX - 5).join('')} (${i++})`) if (!this.list.some((o) => o.title === as)) return as;
	}

	/** False, with the reason in `note`, if it could not be written. */
	private async toFile(saved: Saved): Promise<boolean> {
		const there = this.list.find((s) => s.name !== undefined && s.title === saved.title);
		const names = new Set(this.list.map((s) => s.name));
		let name = there?.name ?? nameOf(saved.title, 'query');
		if (!there) for (let i = 2, base = name.slice(0, 60); names.has(name); i++) name = `${base}-${i}`;
		try {
			const { title, q, language } = saved;
			await get(`queries/${name}`, {}, undefined, undefined, 'PUT', JSON.stringify({ version: 1, title, q, language }));
		} catch (e) {
			this.note = `saved in this browser only: ${e instanceof ApiError ? e.message : String(e)}`;
			return false;
		}
		this.list = [...this.list.filter((s) => s !== there), { ...saved, name }];
		return true;
	}

	/** A new question replaces an existing one with the same title. */
	async keep(given: Saved) {
		const saved = { ...given, title: clip(given.title) };
		this.note = '';
		if (!this.writable) this.note = "saved in this browser only: the trace's folder is not writable";
		else if (await this.toFile(saved)) return;
		const mine = [...fromBrowser(this.key()).filter((s) => s.title !== saved.title), saved];
		toBrowser(this.key(), mine);
		this.list = [...this.list.filter((s) => s.name !== undefined || s.title !== saved.title), saved];
	}

	async drop(saved: Saved) {
		this.note = '';
		try {
			if (saved.name !== undefined) await get(`queries/${saved.name}`, {}, undefined, undefined, 'DELETE');
			else
				for (const key of [EVERY_TRACE, this.key()]) {
					const kept = fromBrowser(key);
					toBrowser(key, kept.filter((s) => s.title !== saved.title));
				}
			this.list = this.list.filter((s) => s !== saved);
		} catch (e) {
			this.note = e instanceof ApiError ? e.message : String(e);
		}
	}
}

export const saved = new SavedQueries();

const ready: Saved[] = [
	{ language: 'query', title: 'Slowest calls', q: 'class != wait | select start, dur, comm, op, file | sort dur desc | head 100' },
	{ language: 'query', title: 'By operation', q: 'by op | p50(dur), p99(dur), count(), sum(bytes), sum(dur) as time, hist(dur) | sort time desc' },
	{ language: 'query', title: 'Rate by operation', q: 'by op every $window | rate() as calls' },
	{ language: 'query', title: 'Latency over time', q: 'class in (data, meta, sync) | by every $window | hist(dur)' },
	{ language: 'query', title: 'By file', q: 'class != wait | by file | count(), sum(bytes), sum(dur) as time, p99(dur) | sort time desc | head 50' },
	{ language: 'query', title: 'Errors', q: 'err is not null | by op, err, file | count()' },
	{ language: 'query', title: 'Folders written to', q: 'op ~ "*write*" | by dir(path) as folder | sum(bytes), count() | sort sum desc' },
	{ language: 'sql', title: 'SQL: calls by process', q: 'SELECT pid, comm, count(*) AS calls, sum(bytes) AS bytes FROM op_named GROUP BY ALL ORDER BY calls DESC LIMIT 20' },
	// the outcome of content: weir record --content and weir flow --keep
	{ language: 'query', of: 'chunk', title: 'Content: outcome', q: 'from chunk | by outcome | count(), sum(size)' },
	{ language: 'query', of: 'chunk', title: 'Content: duplicate data', q: 'from chunk | where form == piece and hash != 0 | by hash | count() as n, distinct(file) as files, sum(size) | where n > 1 | sort n desc | head 100' },
	{ language: 'query', of: 'chunk', title: 'Content: by file and direction', q: 'from chunk | where outcome is not null | by file, way | sum(size) as bytes, distinct(hash) as different | sort bytes desc | head 50' },
	{ language: 'query', of: 'chunk', title: 'Content: zeros', q: 'from chunk | where hash == 0 and head is null and tail is null and outcome is not null | by file, way | sum(size) as zeros | sort zeros desc | head 50' },
	{ language: 'query', of: 'edge', title: 'Flow: by reason', q: 'from edge | by via, certainty | count(), p50(dur), p99(dur)' },
	{ language: 'query', of: 'edge', title: 'Flow: over time', q: 'from edge | by via every $window | count()' },
	{ language: 'query', of: 'edge', title: 'Flow: files shared by processes', q: 'from edge | where via == storage | by file | count() as reads, sum(bytes) | sort reads desc | head 50' },
	{ language: 'query', of: 'edge', title: 'Flow: time in transit', q: 'from edge | where via in (stream, pipe) | by file | sum(bytes), p50(dur), p99(dur) as slow, max(dur) | sort slow desc | head 50' },
	{ language: 'query', of: 'edge', title: 'Flow: who waits for whom', q: 'from edge | where via in (futex, lock) | by from_thread_id, to_thread_id | count() as n, p99(dur) | sort n desc | head 50' },
	{ language: 'query', of: 'edge', title: 'Flow: contested edges', q: 'from edge | where certainty == contested | by via, file | count() as n, min(start), max(start) | sort n desc | head 50' },
];

/** Predefined questions that this trace can answer. */
export const examples = (): Saved[] => ready.filter((s) => !s.of || session.trace?.rows[s.of]);
