// SPDX-License-Identifier: Apache-2.0
// Maps values to pixels and back; readable ticks; the buckets of weir's histogram.

export interface Scale {
	/** The pixel of a value. */
	at(value: number): number;
	/** The value at a pixel. */
	back(pixel: number): number;
	ticks(about: number): number[];
}

export function linear(from: number, to: number, left: number, right: number): Scale {
	const per = (right - left) / (to - from || 1);
	return {
		at: (value) => left + (value - from) * per,
		back: (pixel) => from + (pixel - left) / per,
		ticks: (about) => linearTicks(from, to, about),
	};
}

/** Round steps of 1, 2 or 5 times a power of ten. */
export function linearTicks(from: number, to: number, about: number): number[] {
	const span = to - from;
	if (!(span > 0) || about < 1) return [];
	const rough = span / about;
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.999)!;
	const ticks: number[] = [];
	for (let i = Math.ceil(from / step); i * step <= to; i++) ticks.push(i * step);
	return ticks;
}

/** Like linearTicks, for bytes: steps are powers of two, so that they are round in KiB, MiB, ... */
export function binaryTicks(from: number, to: number, about: number): number[] {
	const span = to - from;
	if (!(span > 0) || about < 1) return [];
	const step = Math.max(1, 2 ** Math.ceil(Math.log2(span / about) - 1e-9));
	const ticks: number[] = [];
	for (let i = Math.ceil(from / step); i * step <= to; i++) ticks.push(i * step);
	return ticks;
}

export const SHORTEST = 10; // ns across the screen, at least
const OVER = 0.1; // of the trace: maximum empty range beyond its ends

/** The range to show for from..to: no shorter than SHORTEST, not far beyond the trace. */
export function fitRange(from: number, to: number, first: number, last: number): [number, number] {
	const whole = Math.max(last - first, SHORTEST);
	const span = Math.min(Math.max(to - from, SHORTEST), whole * (1 + 2 * OVER));
	const start = Math.max(first - whole * OVER, Math.min((from + to) / 2 - span / 2, last + whole * OVER - span));
	return [start, start + span];
}

export function logarithmic(from: number, to: number, left: number, right: number): Scale {
	const low = Math.log(Math.max(from, 1));
	const per = (right - left) / (Math.log(Math.max(to, 1)) - low || 1);
	return {
		at: (value) => left + (Math.log(Math.max(value, 1)) - low) * per,
		back: (pixel) => Math.exp(low + (pixel - left) / per),
		ticks: () => {
			const ticks: number[] = [];
			for (let t = 10 ** Math.ceil(Math.log10(Math.max(from, 1)) - 1e-9); t <= to * 1.000001; t *= 10) ticks.push(t);
			return ticks;
		},
	};
}

// The log-linear histogram, as in src/hist/hist.h: 16 buckets per power of two.
const SUB = 16;

export function histBucket(value: number): number {
	if (value < SUB) return Math.max(0, Math.floor(value));
	const msb = Math.floor(Math.log2(value));
	// log2 of a number just below a power of two can round up
	const exponent = 2 ** msb > value ? msb - 1 : msb;
	return (exponent - 3) * SUB + Math.floor(value / 2 ** (exponent - 4) - SUB);
}

export function histLower(bucket: number): number {
	const octave = Math.floor(bucket / SUB);
	return octave === 0 ? bucket : (SUB + (bucket % SUB)) * 2 ** (octave - 1);
}

export function histWidth(bucket: number): number {
	const octave = Math.floor(bucket / SUB);
	return octave === 0 ? 1 : 2 ** (octave - 1);
}

/** The percentile of a histogram given as [bucket, count], ascending: the middle of its bucket, as in weir. */
export function percentileOf(hist: [number, number][], q: number): number | null {
	let total = 0;
	for (const [, n] of hist) total += n;
	if (total === 0) return null;
	const rank = Math.max(1, Math.ceil(q * total));
	let seen = 0;
	for (const [bucket, n] of hist) {
		seen += n;
		if (seen >= rank) return histLower(bucket) + Math.floor(histWidth(bucket) / 2);
	}
	return null;
}

/** For each column of a heat map (flat triples: column, bucket, calls) the percentiles `qs`; null if it is empty. */
export function percentilesOf(cells: number[], columns: number, qs: number[]): (number[] | null)[] {
	const hists: [number, number][][] = Array.from({ length: Math.min(columns, 4096) }, () => []);
	for (let i = 0; i < cells.length; i += 3) hists[cells[i]!]?.push([cells[i + 1]!, cells[i + 2]!]);
	return hists.map((h) => {
		if (h.length === 0) return null;
		h.sort((a, b) => a[0] - b[0]);
		return qs.map((q) => percentileOf(h, q)!);
	});
}
