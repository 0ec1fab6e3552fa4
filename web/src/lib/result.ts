// SPDX-License-Identifier: Apache-2.0
// Which pictures a result can be shown as, and the numbers in them.

import type { Column, Table } from './api';
import type { Meaning } from './meaning';

export type ChartKind = 'table' | 'lines' | 'bars' | 'heat' | 'hist';

export const isNumber = (c: Column) => ['int', 'float', 'dur', 'size', 'uint'].includes(c.type);
export const isTime = (c: Column) => c.type === 'time';
export const isHist = (c: Column) => c.type === 'hist' || c.type === 'tally';

const ROWS_BY = ['start', 'stop'];

/** A value of which the end tells more than the beginning. */
export const isPath = (v: unknown) => typeof v === 'string' && v.startsWith('/');

/** What suits the columns, best first; a table always does. */
export function chartsFor(columns: Column[]): ChartKind[] {
	const kinds: ChartKind[] = [];
	const windowed = columns[0] !== undefined && isTime(columns[0]);
	const hist = columns.some(isHist);
	const number = columns.some(isNumber);
	if (windowed && hist && columns.filter((c) => !isHist(c)).length === 1) kinds.push('heat');
	if (windowed && number) kinds.push('lines');
	if (!windowed && hist) kinds.push('hist');
	if (!windowed && number && columns.length > 1) kinds.push('bars');
	// calls one by one are a table; over time, too, where that is wished
	return ROWS_BY.includes(columns[0]?.name ?? '') ? ['table', ...kinds] : [...kinds, 'table'];
}

export interface Lines {
	x: number[]; // seconds since the origin
	series: { name: string; unit: string; y: (number | null)[] }[];
}

const SERIES_MAX = 12;

/** The windows that have rows, and those beside them where others have none: what is drawn must not bridge these. */
function timesOf(present: number[], step: number | null, from: number, to: number): number[] {
	if (step === null || present.length === 0) return present;
	const times: number[] = [];
	if (present[0]! - step >= from) times.push(present[0]! - step);
	present.forEach((t, i) => {
		const before = present[i - 1];
		if (before !== undefined && t - before > 1.5 * step) {
			times.push(before + step);
			if (t - before > 2.5 * step) times.push(t - step);
		}
		times.push(t);
	});
	if (present.at(-1)! + 2 * step <= to) times.push(present.at(-1)! + step);
	return times;
}

/**
 * Numbers over time: a line for each number, or for each value of the keys where there are some. Where windows have no row,
 * counts are 0 and other numbers are missing. `from`, `to`: of the calls that were asked about, in ns.
 */
export function linesOf(table: Table, value?: string, means?: Meaning, from = Infinity, to = -Infinity): Lines {
	const time = table.columns[0]!;
	const keys = table.columns.slice(1).filter((c) => !isNumber(c) && !isHist(c));
	const all = table.columns.slice(1).filter(isNumber);
	const numbers = value === undefined ? all : all.filter((c) => c.name === value);
	const present = [...new Set(table.rows.map((r) => r[time.name] as number | null))].filter((t): t is number => t !== null).sort((a, b) => a - b);
	// rows that were cut off are not windows without a call
	const step = table.truncated ? null : (means?.step ?? null);
	const times = timesOf(present, step, from, to);
	const at = new Map(times.map((t, i) => [t, i]));
	const series = new Map<string, { name: string; unit: string; y: (number | null)[]; sum: number }>();
	for (const row of table.rows) {
		const i = at.get(row[time.name] as number);
		if (i === undefined) continue;
		for (const number of keys.length ? numbers.slice(0, 1) : numbers) {
			const name = keys.length ? keys.map((k) => String(row[k.name] ?? '–')).join(' ') : number.name;
			let s = series.get(name);
			if (!s) {
				const none = step !== null && means!.zero.has(number.name) ? 0 : null;
				const rate = means?.rates.get(number.name);
				series.set(name, (s = { name, unit: rate === undefined ? number.unit : `${rate}/s`, y: times.map(() => none), sum: 0 }));
			}
			const v = row[number.name] as number | null;
			s.y[i] = v;
			s.sum += Math.abs(v ?? 0);
		}
	}
	const shown = [...series.values()].sort((a, b) => b.sum - a.sum).slice(0, SERIES_MAX);
	// a window that began before what is shown is told where that begins
	const cut = (t: number) => (step !== null && t < from && t + step > from ? from : t);
	return { x: times.map((t) => cut(t) / 1e9), series: shown };
}
