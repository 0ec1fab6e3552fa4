// SPDX-License-Identifier: Apache-2.0
// $window in a saved question: a window length that divides the range into about two hundred.

const WINDOW = '$window';
const WINDOWS = 200;
const SHORTEST_NS = 1e6;

/** 1, 2 or 5 times a power of ten, in the notation of the query language. */
export function windowFor(span: number): string {
	const least = Math.max(SHORTEST_NS, span / WINDOWS);
	const power = 10 ** Math.floor(Math.log10(least) + 1e-9);
	const ns = [1, 2, 5, 10].map((m) => m * power).find((n) => n >= least * 0.999)!;
	return ns >= 1e9 ? `${Math.round(ns / 1e9)}s` : `${Math.round(ns / 1e6)}ms`;
}

/** The length of such a window. */
export const nsOf = (window: string): number => Number.parseFloat(window) * (window.endsWith('ms') ? 1e6 : 1e9);

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9, d: 86400e9 };

/** The length of the windows of a question, in ns; undefined if it has none. */
export function everyOf(q: string): number | undefined {
	const [, n, unit] = /\bevery\s+([\d.]+)(ns|us|ms|s|m|min|h|d)\b/.exec(q) ?? [];
	return n && unit ? Number(n) * UNITS[unit]! : undefined;
}

/** The question to send; padded to the same length, so that positions in it stay valid. */
export function fillWindow(q: string, span: number): string {
	return q.replaceAll(WINDOW, windowFor(span).padEnd(WINDOW.length));
}
