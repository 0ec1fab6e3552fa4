// SPDX-License-Identifier: Apache-2.0
// The lanes of the timeline: draws the server's answers as rows of pixels.

import type { Columns } from '../lib/columns';
import { opColour } from '../lib/theme.svelte';

export const LANE = 20; // height of a lane in pixels
export const GROUP = 22; // height of a group's header in pixels

/** The looks of a bar, as names of colours. */
export const LOOKS = ['read', 'write', 'meta', 'sync', 'net', 'process', 'wait', 'other'] as const;
/** Height of a lane's bars in pixels, shared by the calls within a column of pixels. */
export const BAR = 14;
const STRIPE = 3; // part of it that is red if a call failed
const GAP_FROM = 3; // pixels: the last pixel of a wider call is fainter, which separates neighbours
const FAINT = 0x80; // of 0xff

/** The colours of bars as pixels. */
export function palette(pixel: (name: string) => number): Uint32Array {
	return Uint32Array.from(LOOKS, pixel);
}

/**
 * One column of BAR pixels from the bottom: each look gets its share of the height, but at least one pixel; the rest is empty.
 * The shares add up to at most 1 (except for rounding).
 */
export function stack(parts: Float32Array, at: number, heights: Uint8Array) {
	let sum = 0;
	let largest = 0;
	for (let look = 0; look < LOOKS.length; look++) {
		const part = parts[at + look]!;
		heights[look] = part > 0 ? Math.min(BAR, Math.max(1, Math.round(part * BAR))) : 0;
		sum += heights[look]!;
		if (part > parts[at + largest]!) largest = look;
	}
	while (sum > BAR) {
		let most = largest;
		for (let look = 0; look < LOOKS.length; look++) if (heights[look]! > heights[most]!) most = look;
		heights[most]!--;
		sum--;
	}
}

function paint(pixels: Uint32Array, width: number, left: number, right: number, parts: Float32Array, marks: Uint8Array, colours: Uint32Array, bad: number) {
	const heights = new Uint8Array(LOOKS.length);
	for (let x = left; x < right; x++) {
		stack(parts, x * LOOKS.length, heights);
		let y = BAR - 1;
		for (let look = 0; look < LOOKS.length; look++) {
			let colour = colours[look]!;
			if (marks[x]! & 2) colour = ((colour & 0xffffff) | (FAINT << 24)) >>> 0;
			for (let h = heights[look]!; h > 0; h--) pixels[y-- * width + x] = colour;
		}
		if (marks[x]! & 1) for (let s = 1; s <= STRIPE; s++) pixels[(BAR - s) * width + x] = bad;
	}
}

/** One answer of /timeline, ready for drawing and for finding the bar at a point. */
export class Bars {
	readonly start: Float64Array;
	readonly dur: Float64Array;
	/** NaN: several calls; -1: one that is still running and has no row yet. */
	readonly row: Float64Array;
	readonly count: Float64Array;
	private op: Uint32Array;
	private ops: string[];
	private err: Uint32Array;
	private errs: string[];
	/** The share of its time in calls: less than all for a stretch of several calls. */
	private busy: Float64Array;
	/** Per bar, its index in the palette. */
	private looks: Uint8Array;
	/** Bars by lane, ordered by start; with each the latest end of those up to it. */
	private order: Uint32Array;
	private ends: Float64Array;
	private lanes = new Map<number, [first: number, end: number]>();

	/** The lanes and times that this answer covers. */
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
		this.busy = columns.numbers('busy');
		this.looks = this.look(columns);
		this.order = new Uint32Array(columns.rows);
		this.ends = new Float64Array(columns.rows);
		this.sort(columns.numbers('lane'));
	}

	/** A bar has the colour of its operation and class. */
	private look(columns: Columns): Uint8Array {
		const cls = columns.codes('class');
		const classes = columns.words('class');
		const known = new Map<number, number>();
		const looks = new Uint8Array(columns.rows);
		for (let i = 0; i < columns.rows; i++) {
			const key = this.op[i]! * 64 + cls[i]!;
			let look = known.get(key);
			if (look === undefined) {
				look = LOOKS.indexOf(opColour(this.ops[this.op[i]!] ?? '', classes[cls[i]!] ?? '') as (typeof LOOKS)[number]);
				known.set(key, look);
			}
			looks[i] = look;
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
		return LOOKS[this.looks[i]!]!;
	}

	/** The first of a lane's bars that ends at or after t. */
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
	 * Draws a lane between two times into BAR rows of pixels, from the top: in each column calls share the height in
	 * proportion to their time, and the lowest rows are red if a call failed. `seen` is called for bars that are single
	 * calls and wide enough for a text.
	 */
	raster(lane: number, from: number, to: number, pixels: Uint32Array, colours: Uint32Array, bad: number, seen: (i: number, left: number, right: number) => void, wide: number) {
		const width = pixels.length / BAR;
		const per = width / (to - from);
		const clip = (t: number) => Math.max(0, Math.min(width, Math.round((t - from) * per)));
		const [left, right] = [clip(this.from), clip(this.to)];
		for (let y = 0; y < BAR; y++) pixels.fill(0, y * width + left, y * width + right);
		const range = this.lanes.get(lane);
		if (!range || right <= left) return;
		const { start, dur, order, looks, err, errs } = this;
		const parts = new Float32Array(width * LOOKS.length);
		const marks = new Uint8Array(width); // 1: a call failed, 2: a wide one ends
		const latest = Math.min(to, this.to);
		for (let k = this.after(range, Math.max(from, this.from)); k < range[1]; k++) {
			const i = order[k]!;
			if (start[i]! >= latest) break;
			const a = (start[i]! - from) * per;
			const b = a + dur[i]! * per;
			const p = Math.max(left, Math.floor(a));
			const q = Math.min(right, Math.max(p + 1, Math.ceil(b)));
			if (q <= p) continue;
			const single = !Number.isNaN(this.row[i]!);
			const weight = single ? 1 : this.busy[i]!;
			// a call of no duration is visible too
			for (let x = p; x < q; x++) parts[x * LOOKS.length + looks[i]!]! += Math.max(Math.min(b, x + 1) - Math.max(a, x), 1e-6) * weight || 1e-6;
			if (errs[err[i]!] !== undefined) for (let x = p; x < q; x++) marks[x]! |= 1;
			if (single && b - a > GAP_FROM && q < right) marks[q - 1]! |= 2;
			if (q - p >= wide && single) seen(i, p, q);
		}
		paint(pixels, width, left, right, parts, marks, colours, bad);
	}

	/** The bar at a time (within `slack`), the shortest if several overlap; -1 if there is none. */
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

	/** For a stretch without its own row: those of its operations, most time first. */
	sharing(lane: number, i: number): number[] {
		const range = this.lanes.get(lane);
		const of: number[] = [];
		if (!range) return of;
		for (let k = this.after(range, this.start[i]!); k < range[1] && this.start[this.order[k]!]! <= this.start[i]!; k++) {
			const other = this.order[k]!;
			if (this.start[other] === this.start[i] && this.dur[other] === this.dur[i] && Number.isNaN(this.row[other]!)) of.push(other);
		}
		return of.sort((a, b) => this.busy[b]! - this.busy[a]!);
	}

	/** The operation's share of a stretch. */
	part(i: number): number {
		return this.busy[i]!;
	}

	/** The row of the first single call at t or later; null if there is none in this answer. */
	callAfter(lane: number, t: number): number | null {
		const range = this.lanes.get(lane);
		if (!range) return null;
		for (let k = this.after(range, t); k < range[1]; k++) if (this.row[this.order[k]!]! >= 0) return this.row[this.order[k]!]!;
		return null;
	}
}

const KEPT = 4;

/**
 * The answers to draw from after `next` has arrived: those that it does not replace are kept, so that zooming out shows earlier
 * data at once. The coarsest is kept longest.
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

/** The drawing order: fine over coarse. */
export function drawn(answers: readonly Bars[]): Bars[] {
	return [...answers].sort((a, b) => b.perPixel - a.perPixel);
}
