// SPDX-License-Identifier: Apache-2.0
// The lanes of the timeline: where they stand, and what the server gave for them as rows of pixels.

import type { Lane } from '../lib/api';
import type { Columns } from '../lib/columns';
import { opColour } from '../lib/theme.svelte';

export const LANE = 20; // pixels of a lane
export const GROUP = 22; // pixels of a group's head

/** What a bar can look like: names of colours. */
export const LOOKS = ['read', 'write', 'meta', 'sync', 'net', 'process', 'wait', 'other'] as const;
const LEVELS = 64; // of how busy a stretch is
const FAINTEST = 0.25;
const GAP_FROM = 3; // pixels: bars wider than this are told apart by one that is empty

export type Place = { kind: 'group'; title: string; y: number } | { kind: 'lane'; lane: Lane; title: string; alone: boolean; y: number };

/** Lanes under the heads of their processes (containers and hosts are part of a head where there are several): the main
 * thread first, then who called most. A process of one thread is that lane alone. */
export function place(given: Lane[]): { places: Place[]; height: number } {
	const order = new Map<string, number>();
	for (const l of given) {
		const process = `${l.host}/${l.pid}`;
		if (!order.has(process)) order.set(process, order.size);
	}
	const main = (l: Lane) => (l.tid === l.pid ? 1 : 0);
	const lanes = [...given].sort((a, b) => order.get(`${a.host}/${a.pid}`)! - order.get(`${b.host}/${b.pid}`)! || main(b) - main(a) || b.calls - a.calls);
	const hosts = new Set(lanes.map((l) => l.host)).size > 1;
	const titles = lanes.map((l) => [hosts ? l.host : '', l.container ? l.container.slice(0, 12) : '', `${l.process} ${l.pid}`].filter(Boolean).join(' / '));
	const places: Place[] = [];
	let y = 0;
	lanes.forEach((lane, i) => {
		const title = titles[i]!;
		const alone = title !== titles[i - 1] && title !== titles[i + 1];
		if (!alone && title !== titles[i - 1]) {
			places.push({ kind: 'group', title, y });
			y += GROUP;
		}
		places.push({ kind: 'lane', lane, alone, title: alone ? title : `${lane.comm}  ${lane.tid}`, y });
		y += LANE;
	});
	return { places, height: y };
}

/** The colours of bars as pixels: palette(colour of a name at a strength). */
export function palette(pixel: (name: string, strength: number) => number): Uint32Array {
	const colours = new Uint32Array(LOOKS.length * LEVELS);
	for (let l = 0; l < LOOKS.length; l++) for (let i = 0; i < LEVELS; i++) colours[l * LEVELS + i] = pixel(LOOKS[l]!, FAINTEST + ((1 - FAINTEST) * i) / (LEVELS - 1));
	return colours;
}

/** What one answer of /timeline holds, ready to be drawn and asked for what is at a point. */
export class Bars {
	readonly start: Float64Array;
	readonly dur: Float64Array;
	readonly row: Float64Array;
	readonly count: Float64Array;
	private op: Uint32Array;
	private ops: string[];
	private err: Uint32Array;
	private errs: string[];
	/** For each bar its place in the palette. */
	private looks: Uint16Array;
	/** Bars lane by lane, ordered by start; with each the latest end of those up to it. */
	private order: Uint32Array;
	private ends: Float64Array;
	private lanes = new Map<number, [first: number, end: number]>();

	/** Of which lanes between which times this tells. */
	constructor(
		columns: Columns,
		private asked: ReadonlySet<number>,
		readonly from: number,
		readonly to: number,
		readonly perPixel: number,
	) {
		this.start = columns.numbers('start');
		this.dur = columns.numbers('dur');
		this.row = columns.numbers('row');
		this.count = columns.numbers('count');
		this.op = columns.codes('op');
		this.ops = columns.words('op');
		this.err = columns.codes('err');
		this.errs = columns.words('err');
		this.looks = this.look(columns);
		this.order = new Uint32Array(columns.rows);
		this.ends = new Float64Array(columns.rows);
		this.sort(columns.numbers('lane'));
	}

	/** A bar's colour is that of its operation and class, and is fainter where a stretch is less busy. */
	private look(columns: Columns): Uint16Array {
		const cls = columns.codes('class');
		const classes = columns.words('class');
		const busy = columns.numbers('busy');
		const known = new Map<number, number>();
		const looks = new Uint16Array(columns.rows);
		for (let i = 0; i < columns.rows; i++) {
			const key = this.op[i]! * 64 + cls[i]!;
			let look = known.get(key);
			if (look === undefined) {
				look = LOOKS.indexOf(opColour(this.ops[this.op[i]!] ?? '', classes[cls[i]!] ?? '') as (typeof LOOKS)[number]);
				known.set(key, look);
			}
			const strength = Number.isNaN(this.row[i]!) ? Math.min(1, Math.max(0, busy[i]!)) : 1;
			looks[i] = look * LEVELS + Math.round(strength * (LEVELS - 1));
		}
		return looks;
	}

	private sort(lane: Float64Array) {
		const counts = new Map<number, number>();
		for (let i = 0; i < lane.length; i++) counts.set(lane[i]!, (counts.get(lane[i]!) ?? 0) + 1);
		const next = new Map<number, number>();
		let at = 0;
		for (const [id, n] of counts) {
			this.lanes.set(id, [at, at + n]);
			next.set(id, at);
			at += n;
		}
		for (let i = 0; i < lane.length; i++) {
			const to = next.get(lane[i]!)!;
			this.order[to] = i;
			next.set(lane[i]!, to + 1);
		}
		const { start, dur, order, ends } = this;
		for (const [first, end] of this.lanes.values()) {
			let sorted = true;
			for (let i = first + 1; i < end && sorted; i++) sorted = start[order[i - 1]!]! <= start[order[i]!]!;
			if (!sorted) order.subarray(first, end).sort((a, b) => start[a]! - start[b]!);
			let latest = -Infinity;
			for (let i = first; i < end; i++) ends[i] = latest = Math.max(latest, start[order[i]!]! + dur[order[i]!]!);
		}
	}

	tells(lane: number): boolean {
		return this.asked.has(lane);
	}

	tellsAllOf(other: Bars): boolean {
		for (const lane of other.asked) if (!this.asked.has(lane)) return false;
		return true;
	}

	text(i: number): { op: string; err: string | undefined } {
		return { op: this.ops[this.op[i]!] ?? '?', err: this.errs[this.err[i]!] };
	}

	colour(i: number): string {
		return LOOKS[Math.floor(this.looks[i]! / LEVELS)]!;
	}

	/** The first of a lane's bars that does not end before t. */
	private after([first, end]: [number, number], t: number): number {
		let [a, b] = [first, end];
		while (a < b) {
			const middle = (a + b) >> 1;
			if (this.ends[middle]! < t) a = middle + 1;
			else b = middle;
		}
		return a;
	}

	/**
	 * Draws a lane between two times into rows of pixels: bars, and the stripe below them that is red where a call failed.
	 * `seen` is told of bars that are calls of their own and wide enough for a text, or chosen.
	 */
	raster(lane: number, from: number, to: number, bars: Uint32Array, stripe: Uint32Array, colours: Uint32Array, bad: number, seen: (i: number, left: number, right: number) => void, wide: number, chosen: number | null) {
		const width = bars.length;
		const per = width / (to - from);
		const clip = (t: number) => Math.max(0, Math.min(width, Math.round((t - from) * per)));
		const [left, right] = [clip(this.from), clip(this.to)];
		bars.fill(0, left, right);
		stripe.fill(0, left, right);
		const range = this.lanes.get(lane);
		if (!range) return;
		const { start, dur, order, looks, err, errs } = this;
		const latest = Math.min(to, this.to);
		for (let k = this.after(range, Math.max(from, this.from)); k < range[1]; k++) {
			const i = order[k]!;
			if (start[i]! >= latest) break;
			const a = (start[i]! - from) * per;
			const b = a + dur[i]! * per;
			const p = Math.max(left, Math.floor(a));
			const q = Math.min(right, Math.max(p + 1, Math.round(b) - (b - a > GAP_FROM ? 1 : 0)));
			if (q <= p) continue;
			const colour = colours[looks[i]!]!;
			const failed = errs[err[i]!] !== undefined;
			if (q - p === 1) {
				bars[p] = colour;
				stripe[p] = failed ? bad : colour;
			} else {
				bars.fill(colour, p, q);
				stripe.fill(failed ? bad : colour, p, q);
			}
			if ((q - p >= wide || this.row[i] === chosen) && !Number.isNaN(this.row[i]!)) seen(i, p, q);
		}
	}

	/** The bar at a time (give or take `slack`), the shortest where several overlap; -1 where there is none. */
	at(lane: number, t: number, slack: number): number {
		const range = this.lanes.get(lane);
		let best = -1;
		if (!range || t < this.from || t > this.to) return best;
		for (let k = this.after(range, t - slack); k < range[1]; k++) {
			const i = this.order[k]!;
			if (this.start[i]! - slack > t) break;
			if (this.start[i]! + Math.max(this.dur[i]!, 0) + slack < t) continue;
			if (best < 0 || this.dur[i]! <= this.dur[best]!) best = i;
		}
		return best;
	}

	/** The row of the first call of its own at t or later; null where there is none in what is known. */
	callAfter(lane: number, t: number): number | null {
		const range = this.lanes.get(lane);
		if (!range) return null;
		for (let k = this.after(range, t); k < range[1]; k++) if (!Number.isNaN(this.row[this.order[k]!]!)) return this.row[this.order[k]!]!;
		return null;
	}
}

const KEPT = 4;

/**
 * The answers to draw from, after `next` has come: those that it does not replace stay, so that a zoom out shows at once
 * what was seen before. The coarsest stays longest.
 */
export function keep(before: readonly Bars[], next: Bars): Bars[] {
	const kept = before.filter((b) => !(next.perPixel <= b.perPixel && next.from <= b.from && next.to >= b.to && next.tellsAllOf(b)));
	const all = [...kept, next];
	if (all.length > KEPT) {
		const coarsest = all.reduce((a, b) => (b.perPixel > a.perPixel ? b : a));
		all.splice(
			all.findIndex((b) => b !== coarsest && b !== next),
			1,
		);
	}
	return all;
}

/** The order in which they are drawn: what is fine over what is coarse. */
export function drawn(answers: readonly Bars[]): Bars[] {
	return [...answers].sort((a, b) => b.perPixel - a.perPixel);
}
