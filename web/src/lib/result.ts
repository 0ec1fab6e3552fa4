// SPDX-License-Identifier: Apache-2.0
// The charts that can show a result, and the numbers in them.

import type { Column, Table } from './api';
import { value } from './format';
import type { Meaning } from './meaning';

export type ChartKind = 'table' | 'lines' | 'bars' | 'heat' | 'hist';

export const isNumber = (c: Column) => ['int', 'float', 'dur', 'size', 'uint'].includes(c.type);
/** A number that names something: it identifies rows, and is not worth a bar. */
const isId = (c: Column) => c.type === 'int' && /^(p|t|pp|u|g)id$|^(cpu|fd2?|ino|dev|port)$|(^|_)id$/.test(c.name);
export const isTime = (c: Column) => c.type === 'time';
export const isHist = (c: Column) => c.type === 'hist' || c.type === 'tally';

/** A value whose end is more informative than its beginning. */
export const isPath = (v: unknown) => typeof v === 'string' && v.startsWith('/');

/** The roles of an answer's columns in a chart. */
export interface Shape {
	/** The time of a row. */
	window: Column | null;
	/** The other columns that identify a row: those of `by`. */
	keys: Column[];
	/** The columns that can be drawn. */
	numbers: Column[];
	hist: Column | undefined;
	/** The answer names its keys, as grouped rows of the query language do. */
	told: boolean;
	/** No two rows have the same keys. */
	distinct: boolean;
}

/** The identity of a row as one text. */
const idOf = (row: Record<string, unknown>, columns: Column[]) => JSON.stringify(columns.map((c) => row[c.name] ?? null));

/**
 * Uses the keys that the answer names. SQL names none: then they are the columns that are ids or not numbers, and as many numbers
 * as needed to distinguish rows.
 */
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
	const apart = (more: Column[] = []) => {
		const of = [...(window ? [window] : []), ...keys, ...more];
		return new Set(table.rows.map((r) => idOf(r, of))).size === table.rows.length;
	};
	let numbers = columns.filter((c) => isNumber(c) && !keys.includes(c));
	const ids = told ? [] : numbers.filter(isId);
	if (ids.length && ids.length < numbers.length && apart(ids)) {
		keys.push(...ids);
		numbers = numbers.filter((c) => !ids.includes(c));
	}
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

/** A row's keys for display. */
export const nameOf = (row: Record<string, unknown>, keys: Column[], between = '  ') =>
	keys.map((k) => (typeof row[k.name] === 'number' && k.unit === '' ? String(row[k.name]) : value(row[k.name], k.type, k.unit))).join(between) || 'all';

/** The charts for an answer, best first; a table is always possible. */
export function chartsFor(table: Table, sql = false): ChartKind[] {
	const { window, keys, numbers, hist, told, distinct } = shapeOf(table);
	const kinds: ChartKind[] = [];
	if (window && hist && distinct && table.columns.filter((c) => !isHist(c)).length === 1) kinds.push('heat');
	// two rows at one point would hide each other
	if (window && numbers.length && distinct) kinds.push('lines');
	if (!window && hist) kinds.push('hist');
	if (!window && numbers.length && keys.length) kinds.push('bars');
	// several numbers per group were requested to be read; a chart shows one
	if (told && !window && numbers.length > 1) return ['table', ...kinds];
	// rows one by one are a table, but can also be drawn
	const drawn = told || hist !== undefined || (sql && distinct && !keys.some(isNumber) && !ROWS_BY.includes(window?.name ?? ''));
	return drawn ? [...kinds, 'table'] : ['table', ...kinds];
}

export interface Lines {
	x: number[]; // seconds since the origin
	series: { name: string; unit: string; y: (number | null)[] }[];
	/** Total number, of which `series` are the largest. */
	of: number;
}

const SERIES_MAX = 12;
/** Columns by which SQL returns calls one by one. */
const ROWS_BY = ['start', 'stop'];

/** The windows that have rows, and the missing ones next to them: lines must not bridge these. */
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
 * Numbers over time: a line per number, or per value of the keys if there are any. In windows without a row counts are 0 and
 * other numbers are missing. `from`, `to`: the range of the question's calls, in ns.
 */
export function linesOf(table: Table, wanted?: string, means?: Meaning, from = Infinity, to = -Infinity): Lines {
	const { keys, numbers: all } = shapeOf(table);
	const time = table.columns[0]!;
	const named = all.filter((c) => c.name === wanted);
	const numbers = named.length ? named : keys.length ? all.slice(0, 1) : all;
	const present = [...new Set(table.rows.map((r) => r[time.name] as number | null))].filter((t): t is number => t !== null).sort((a, b) => a - b);
	// rows may be cut off, so a missing row does not mean a window without calls
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
	// a window that began before the visible range is drawn at its beginning
	const cut = (t: number) => (step !== null && t < from && t + step > from ? from : t);
	return { x: times.map((t) => cut(t) / 1e9), series: shown, of: series.size };
}
