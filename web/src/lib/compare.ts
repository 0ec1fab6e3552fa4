// SPDX-License-Identifier: Apache-2.0
// The two sides of a comparison: the part of the trace on each, and its parameters.

import type { Loss, Scope, Table } from './api';
import { bothOf, quote } from './state.svelte';

/** How the sides are distinguished. */
export const KINDS = ['host', 'container', 'program', 'time', 'filter'] as const;
export type Kind = (typeof KINDS)[number];

/** One row per item and metric, as in `weir diff --json`; `rank` is null if nothing changed. */
export interface DiffRow {
	rank: number | null;
	by: string;
	op: string | null;
	err: string | null;
	name: string | null;
	presence: 'both' | 'only_a' | 'only_b';
	calls_a: number;
	calls_b: number;
	time_a: number;
	time_b: number;
	time_diff: number | null;
	share: number | null;
	metric: string | null;
	a: number | null;
	b: number | null;
	ratio: number | null;
	ratio_low: number | null;
	ratio_high: number | null;
	metric_changed: boolean;
}

export interface Diff {
	rows: DiffRow[];
	loss: Loss;
	changes: number;
	unit: string;
	tests: number;
	all_calls: { ratio: number; metric_changed: boolean } | null;
}

export interface Side {
	label: string;
	filter: string;
	from?: number;
	to?: number;
}

const SPAN = /^(-?\d+)_(-?\d+)$/;

export const formatSpan = (from: number, to: number) => `${Math.round(from)}_${Math.round(to)}`;

/** The side that a value in the address names; null if it names none. */
export function sideOf(kind: Kind, value: string | undefined): Side | null {
	if (value === undefined || value === '') return null;
	if (kind === 'time') {
		const span = SPAN.exec(value);
		return span ? { label: '', filter: '', from: Number(span[1]), to: Number(span[2]) } : null;
	}
	if (kind === 'filter') return { label: value, filter: value };
	return { label: value, filter: `${kind === 'program' ? 'comm' : kind} == ${quote(value)}` };
}

/** The scope of one side: its part of the current scope. */
export function scopeOfSide(side: Side, scope: Scope): Scope {
	const later = (a?: number, b?: number) => (a === undefined ? b : b === undefined ? a : Math.max(a, b));
	const earlier = (a?: number, b?: number) => (a === undefined ? b : b === undefined ? a : Math.min(a, b));
	return {
		filter: side.filter ? bothOf(scope.filter ?? '', side.filter) : scope.filter,
		from: later(scope.from, side.from),
		to: earlier(scope.to, side.to),
	};
}

/** The parameters of /analysis/diff for both. */
export function diffOf(a: Side, b: Side, scope: Scope): Scope & Record<string, string | number | undefined> {
	const [p, q] = [scopeOfSide(a, scope), scopeOfSide(b, scope)];
	// Times that last equally long compare as they are, also halves of an odd number of ns; for all else the analysis chooses
	// the unit, as in the terminal.
	const per = a.from === undefined ? undefined : Math.abs(p.to! - p.from! - (q.to! - q.from!)) <= 1 ? 'run' : 'second';
	return { per, filter: scope.filter, a_filter: a.filter, b_filter: b.filter, a_from: p.from, a_to: p.to, b_from: q.from, b_to: q.to };
}

const FACTOR_MIN = 3; // from here on a change is a factor, below a percentage

/** A ratio as in `weir diff`: x23, /3.5, +12 %. */
export function change(ratio: number): string {
	if (ratio >= 1e6 || ratio <= 1e-6) return ratio > 1 ? 'x>1e6' : '/>1e6';
	if (ratio >= FACTOR_MIN) return `x${ratio.toFixed(ratio < 10 ? 1 : 0)}`;
	if (ratio <= 1 / FACTOR_MIN) return `/${(1 / ratio).toFixed(ratio > 0.1 ? 1 : 0)}`;
	const percent = (ratio - 1) * 100;
	return `${percent < 0 ? '' : '+'}${percent.toFixed(Math.abs(percent) < 9.95 ? 1 : 0)} %`;
}

/** Figures of each operation, as in `weir query`. */
export const BY_OP = 'by op, class | count() as calls, countif(err is not null) as errors, sum(bytes) as bytes, sum(dur) as time, p50(dur) as p50, p99(dur) as p99';

export interface OpPair {
	op: string;
	class: string;
	[figure: string]: unknown;
}

const FIGURES = ['calls', 'errors', 'bytes', 'time', 'p50', 'p99'];

/**
 * Both sides by operation and class (a read may wait): calls_a, calls_b, ...; those with most time first. A side without an
 * operation has 0 calls, and no latency.
 */
export function pairs(a: Table, b: Table): OpPair[] {
	const all = new Map<string, OpPair>();
	for (const [table, side] of [
		[a, 'a'],
		[b, 'b'],
	] as const)
		for (const row of table.rows) {
			const key = `${row.op} ${row.class}`;
			const pair = all.get(key) ?? { op: String(row.op), class: String(row.class), calls_a: 0, calls_b: 0, errors_a: 0, errors_b: 0 };
			for (const f of FIGURES) pair[`${f}_${side}`] = row[f];
			all.set(key, pair);
		}
	const time = (p: OpPair) => Math.max(Number(p.time_a ?? 0), Number(p.time_b ?? 0));
	return [...all.values()].sort((p, q) => time(q) - time(p));
}

/** Sums over all operations of a side. */
export function totalsOf(table: Table): { calls: number; errors: number; bytes: number; io: number; waiting: number } {
	const sum = { calls: 0, errors: 0, bytes: 0, io: 0, waiting: 0 };
	for (const row of table.rows) {
		sum.calls += Number(row.calls);
		sum.errors += Number(row.errors);
		sum.bytes += Number(row.bytes ?? 0);
		if (row.class === 'wait') sum.waiting += Number(row.time ?? 0);
		else if (['data', 'meta', 'sync', 'net'].includes(String(row.class))) sum.io += Number(row.time ?? 0);
	}
	return sum;
}
