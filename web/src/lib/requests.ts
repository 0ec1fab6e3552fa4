// SPDX-License-Identifier: Apache-2.0
// The answer of `weir requests --json`, and its conversion for charts.

import type { Loss } from './api';
import { duration } from './format';

/** Where the time of a request goes, in this order on every screen. */
export const PARTS = ['program', 'stalled', 'data', 'meta', 'sync', 'net', 'lock', 'wait', 'other', 'unselected'] as const;
export type Part = (typeof PARTS)[number];
/** The colour of each, a variable of app.css. */
export const COLOURS: Record<Part, string> = { program: 'more1', stalled: 'more4', data: 'read', meta: 'meta', sync: 'sync', net: 'net', lock: 'process', wait: 'wait', other: 'other', unselected: 'line' };

type Parts = Record<Part, number>;

export interface RequestName extends Parts {
	name: string;
	part: number;
	count: number;
	errors: number;
	running: number;
	cut: number;
	total: number;
	covered: number;
	self: number;
	p50: number;
	p99: number;
	max: number;
	calls: number;
}

export interface RequestSpan extends Parts {
	start: number;
	dur: number;
	number: number;
	parent: number | null;
	name: string;
	status: string | null;
	trace_id: string | null;
	span_id: string | null;
	thread: string | null;
	calls: number;
	attributes: string | null;
}

export interface RequestLine {
	at: number;
	dur: number;
	depth: number;
	what: 'span' | 'call' | 'calls' | 'disk';
	name: string;
	number: number;
	status: string | null;
	file: string | null;
	part: Part | null;
	via: string | null;
	thread: string | null;
	waker: string | null;
	count: number;
	time: number;
	bytes: number;
	errors: number;
	queued: number;
	device: number;
	runq: number;
	/** The part of it on the critical path. */
	critical: number;
}

/** A piece of the critical path: a thread, and what it did. */
export interface RequestSegment extends Parts {
	at: number;
	dur: number;
	thread: string | null;
}

export interface RequestCluster extends Parts {
	count: number;
	share: number;
	typical: number;
	typical_id: string | null;
	p50: number;
	p99: number;
	max: number;
}

/** Requests that began in a column of time and have a duration in the row's range. */
export interface RequestCell {
	start: number;
	step: number;
	low: number;
	high: number;
	count: number;
	errors: number;
	slowest_start: number;
	slowest: number;
	number: number;
	span_id: string | null;
}

export interface Difference {
	what: string;
	median: number;
	slowest: number;
	difference: number;
}

interface Rows<T> {
	rows: T[];
}

interface Of<T> extends Rows<T> {
	loss: Loss;
	spans: { count: number; running: number; cut: number; orphans: number; loops: number; crossed: number; estimated: number; contexts: number; unsure: number; unjoined: number };
	via: Record<string, { calls: number; time: number }>;
}

export type RequestNames = Of<RequestName>;
export type RequestLog = Of<RequestSpan>;
export type RequestTree = Of<RequestLine> & { tables: { path: Rows<RequestSegment> } };
export type RequestHeat = Of<RequestCell>;
export type RequestClusters = Of<RequestCluster> & { tables: { outliers: Rows<RequestSpan> } };
export type RequestCompare = Of<Difference> & { tables: { files: Rows<Difference>; attributes: Rows<{ key: string; value: string; median: number; slowest: number }> } };

/** Colours and shares for a bar, without zeros. */
export function partsOf(row: Parts): [string, number][] {
	const all = PARTS.reduce((sum, p) => sum + row[p], 0);
	return all ? PARTS.filter((p) => row[p] > 0).map((p) => [COLOURS[p], row[p] / all]) : [];
}

/** The two largest, in words: "data 85 %, lock 12 %". */
export function wordsOf(row: Parts): string {
	const all = PARTS.reduce((sum, p) => sum + row[p], 0);
	const most = [...PARTS].sort((a, b) => row[b] - row[a]).slice(0, 2);
	return most.filter((p) => row[p] > 0).map((p) => `${p} ${Math.round((100 * row[p]) / all)} %`).join(', ');
}

/** Whole powers of ten that enclose the durations: the ends of a logarithmic axis. */
export function decades(durs: number[]): [number, number] {
	let low = Infinity;
	let high = 1;
	for (const d of durs) {
		low = Math.min(low, Math.max(d, 1));
		high = Math.max(high, d);
	}
	if (!Number.isFinite(low)) return [3, 6];
	const from = Math.floor(Math.log10(low));
	return [from, Math.max(from + 1, Math.ceil(Math.log10(high)))];
}

/** The key by which `--tree` finds a request: a string, as numbers may exceed JavaScript's precision. */
export function keyOf(span: { span_id: string | null; number: number }): string {
	return span.span_id ?? String(span.number);
}

/** "+1.2 ms", "-3 us" */
export function signed(v: number): string {
	return v < 0 ? `-${duration(-v)}` : `+${duration(v)}`;
}

/** What two requests did, matched by name: duration and count in each. */
export interface Pair {
	what: string;
	first: number;
	second: number;
	firsts: number;
	seconds: number;
	difference: number;
}

/** Sorted by the largest difference. */
export function pairsOf(first: RequestLine[], second: RequestLine[]): Pair[] {
	const found = new Map<string, Pair>();
	[first, second].forEach((lines, i) => {
		for (const l of lines.slice(1)) {
			const what = l.via === 'wait' ? `waited for: ${l.name}` : l.name;
			const p = found.get(what) ?? { what, first: 0, second: 0, firsts: 0, seconds: 0, difference: 0 };
			const times = l.what === 'span' ? 1 : l.count;
			found.set(what, p);
			if (i) {
				p.second += l.time;
				p.seconds += times;
			} else {
				p.first += l.time;
				p.firsts += times;
			}
			p.difference = p.second - p.first;
		}
	});
	return [...found.values()].sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference));
}

/** The critical path summed by thread, most time first. */
export function threadsOf(path: RequestSegment[]): (RequestSegment & { name: string })[] {
	const found = new Map<string, RequestSegment & { name: string }>();
	for (const s of path) {
		const name = s.thread ?? 'a thread';
		const t = found.get(name);
		if (!t) {
			found.set(name, { ...s, name });
			continue;
		}
		t.dur += s.dur;
		for (const p of PARTS) t[p] += s[p];
	}
	return [...found.values()].sort((a, b) => b.dur - a.dur);
}

/** The slowest request of every `per` columns: examples to open. */
export function examplesOf(cells: RequestCell[], per: number): RequestCell[] {
	const found = new Map<number, RequestCell>();
	const from = cells[0]?.start ?? 0;
	for (const c of cells) {
		const group = Math.floor((c.start - from) / Math.max(1, c.step) / per);
		const is = found.get(group);
		if (!is || is.slowest < c.slowest) found.set(group, c);
	}
	return [...found.values()];
}
