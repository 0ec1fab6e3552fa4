// SPDX-License-Identifier: Apache-2.0
// Which pictures a result can be shown as, and the numbers in them.

import type { Column, Table } from './api';
import { value } from './format';
import type { Meaning } from './meaning';

export type ChartKind = 'table' | 'lines' | 'bars' | 'heat' | 'hist';

export const isNumber = (c: Column) => ['int', 'float', 'dur', 'size', 'uint'].includes(c.type);
export const isTime = (c: Column) => c.type === 'time';
export const isHist = (c: Column) => c.type === 'hist' || c.type === 'tally';

/** A value of which the end tells more than the beginning. */
export const isPath = (v: unknown) => typeof v === 'string' && v.startsWith('/');

/** What the columns of an answer are to a chart. */
export interface Shape {
	/** The point in time that a row is of. */
	window: Column | null;
	/** What a row is of, besides: what `by` names. */
	keys: Column[];
	/** What can be drawn. */
	numbers: Column[];
	hist: Column | undefined;
	/** The answer says what its keys are, as one of the query language does where rows were grouped. */
	told: boolean;
	/** No two rows are of the same. */
	distinct: boolean;
}

/** What a row is of, as one text. */
const idOf = (row: Record<string, unknown>, columns: Column[]) => JSON.stringify(columns.map((c) => row[c.name] ?? null));

/** Keys are those that the answer names. SQL names none: they are what is no number, and so many numbers as tell rows apart. */
export function shapeOf(table: Table): Shape {
	const known = shapes.get(table);
	if (known) return known;
	const shape = findShape(table);
	shapes.set(table, shape);
	return shape;
}
const shapes = new WeakMap<Table, Shape>();

function findShape(table: Table): Shape {
	const columns = table.columns;
	const first = columns[0];
	const told = columns.some((c) => c.key);
	const window = first && isTime(first) && (!told || first.key) ? first : null;
	const keys = columns.filter((c) => c !== window && (told ? c.key : !isNumber(c) && !isHist(c)));
	const apart = () => {
		const of = window ? [window, ...keys] : keys;
		return new Set(table.rows.map((r) => idOf(r, of))).size === table.rows.length;
	};
	let numbers = columns.filter((c) => isNumber(c) && !keys.includes(c));
	let distinct = apart();
	if (!told && !distinct) {
		const before = keys.length;
		while (!distinct && numbers.length > 1) {
			keys.push(numbers.shift()!);
			distinct = apart();
		}
		if (!distinct) numbers = [...keys.splice(before), ...numbers];
	}
	return { window, keys, numbers, hist: columns.find(isHist), told, distinct };
}

/** A row's keys as they are read. */
export const nameOf = (row: Record<string, unknown>, keys: Column[], between = '  ') =>
	keys.map((k) => (typeof row[k.name] === 'number' && k.unit === '' ? String(row[k.name]) : value(row[k.name], k.type, k.unit))).join(between) || 'all';

/** What suits an answer, best first; a table always does. */
export function chartsFor(table: Table, sql = false): ChartKind[] {
	const { window, keys, numbers, hist, told, distinct } = shapeOf(table);
	const kinds: ChartKind[] = [];
	if (window && hist && distinct && table.columns.filter((c) => !isHist(c)).length === 1) kinds.push('heat');
	// two rows at one point would hide each other
	if (window && numbers.length && distinct) kinds.push('lines');
	if (!window && hist) kinds.push('hist');
	if (!window && numbers.length && keys.length) kinds.push('bars');
	// who asked for several numbers of each group wants to read them all; a picture shows one
	if (told && !window && numbers.length > 1) return ['table', ...kinds];
	// rows one by one are a table; drawn, too, where that is wished
	const drawn = told || hist !== undefined || (sql && distinct && !keys.some(isNumber) && !ROWS_BY.includes(window?.name ?? ''));
	return drawn ? [...kinds, 'table'] : ['table', ...kinds];
}

export interface Lines {
	x: number[]; // seconds since the origin
	series: { name: string; unit: string; y: (number | null)[] }[];
	/** How many there are, of which `series` are those with most. */
	of: number;
}

const SERIES_MAX = 12;
/** Calls one by one, in SQL. */
const ROWS_BY = ['start', 'stop'];

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
export function linesOf(table: Table, wanted?: string, means?: Meaning, from = Infinity, to = -Infinity): Lines {
	const { keys, numbers: all } = shapeOf(table);
	const time = table.columns[0]!;
	const named = all.filter((c) => c.name === wanted);
	const numbers = named.length ? named : keys.length ? all.slice(0, 1) : all;
	const present = [...new Set(table.rows.map((r) => r[time.name] as number | null))].filter((t): t is number => t !== null).sort((a, b) => a - b);
	// rows that were cut off are not windows without a call
	const step = table.truncated ? null : (means?.step ?? null);
	const times = timesOf(present, step, from, to);
	const at = new Map(times.map((t, i) => [t, i]));
	const series = new Map<string, { name: string; unit: string; y: (number | null)[]; sum: number }>();
	for (const row of table.rows) {
		const i = at.get(row[time.name] as number);
		if (i === undefined) continue;
		for (const number of numbers) {
			const id = keys.length ? idOf(row, keys) : number.name;
			let s = series.get(id);
			if (!s) {
				const none = step !== null && means!.zero.has(number.name) ? 0 : null;
				const rate = means?.rates.get(number.name);
				const name = keys.length ? nameOf(row, keys, ' ') : number.name;
				series.set(id, (s = { name, unit: rate === undefined ? number.unit : `${rate}/s`, y: times.map(() => none), sum: 0 }));
			}
			const v = row[number.name] as number | null;
			s.y[i] = v;
			s.sum += Math.abs(v ?? 0);
		}
	}
	const shown = [...series.values()].sort((a, b) => b.sum - a.sum).slice(0, SERIES_MAX);
	// a window that began before what is shown is told where that begins
	const cut = (t: number) => (step !== null && t < from && t + step > from ? from : t);
	return { x: times.map((t) => cut(t) / 1e9), series: shown, of: series.size };
}
