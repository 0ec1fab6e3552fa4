// SPDX-License-Identifier: Apache-2.0
// The time axis below a chart, the shared cross-hair, and marks where losses make a chart incomplete.

import { incompleteRows, recordingNotes, type LossWindow } from '../lib/api';
import { duration, tick } from '../lib/format';
import type { Scale } from '../lib/scales';
import { theme } from '../lib/theme.svelte';

export const AXIS = 18; // pixels

/** A text centred at a position, kept within from..to. */
function label(c: CanvasRenderingContext2D, text: string, at: number, y: number, from: number, to: number): [number, number] {
	const half = c.measureText(text).width / 2;
	const middle = Math.max(from + half, Math.min(at, to - half));
	c.fillText(text, middle, y);
	return [middle - half, middle + half];
}

const LONG = 120e9; // ns: from here on people count in minutes, and from HOURS on in hours
const HOURS = 7200e9;
/** Round steps of a long axis, in seconds; beyond, whole days. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200];

export function timeTicks(x: Scale, left: number, right: number): number[] {
	const [from, to, about] = [x.back(left), x.back(right), Math.max(2, (right - left) / 85)];
	const rough = (to - from) / about;
	if (to - from <= LONG) return x.ticks(about);
	const step = (STEPS.find((s) => s * 1e9 >= rough * 0.999) ?? 86400 * Math.ceil(rough / 86400e9)) * 1e9;
	return Array.from({ length: Math.floor(to / step) - Math.ceil(from / step) + 1 }, (_, i) => (Math.ceil(from / step) + i) * step);
}

/** A time of an axis that long: 12 min, 12:30 min, 2:05 h, 2:05:30 h; with decimals of a second all parts are there. */
function longTime(t: number, span: number, decimals?: number): string {
	const scale = 10 ** (decimals ?? 0);
	const parts = Math.round((Math.abs(t) * scale) / 1e9); // rounded first, so that 59.99 s is not 60
	const [hours, minutes] = [Math.floor(parts / scale / 3600), Math.floor(parts / scale / 60)];
	const rest = (parts / scale) % 60;
	const seconds = rest || decimals !== undefined ? `:${rest.toFixed(decimals ?? 0).padStart(decimals ? 3 + decimals : 2, '0')}` : '';
	const sign = t < 0 && parts ? '-' : '';
	return Math.max(Math.abs(t), span) < HOURS ? `${sign}${minutes}${seconds} min` : `${sign}${hours}:${String(minutes % 60).padStart(2, '0')}${seconds} h`;
}

/** Faint lines behind a chart, at the ticks of its axis. */
export function drawTimeGrid(c: CanvasRenderingContext2D, x: Scale, left: number, right: number, bottom: number) {
	c.strokeStyle = theme.colour('line');
	c.globalAlpha = 0.55;
	c.beginPath();
	for (const t of timeTicks(x, left, right)) {
		const at = Math.round(x.at(t)) + 0.5;
		c.moveTo(at, 0);
		c.lineTo(at, bottom);
	}
	c.stroke();
	c.globalAlpha = 1;
}

/** The time since the start for a wide view, else the distance from the first tick. */
export function drawTimeAxis(c: CanvasRenderingContext2D, x: Scale, left: number, right: number, y: number, width = right) {
	const ticks = timeTicks(x, left, right);
	const span = x.back(right) - x.back(left);
	c.font = `11px ${theme.colour('sans')}`;
	c.textAlign = 'center';
	c.textBaseline = 'top';
	for (const t of ticks) {
		const at = Math.round(x.at(t)) + 0.5;
		c.strokeStyle = theme.colour('line');
		c.beginPath();
		c.moveTo(at, y);
		c.lineTo(at, y + 4);
		c.stroke();
		c.fillStyle = theme.colour('quiet');
		label(c, timeLabel(t, ticks[0]!, span), at, y + 5, left - 30, width);
	}
}

/** As many decimals of a second as needed to distinguish two points of a range. */
function timeDecimals(span: number): number {
	return span > 2e10 ? 0 : span > 2e9 ? 1 : span > 2e8 ? 2 : span > 2e6 ? 4 : 6;
}

/** A time within the first second, in ms. */
const inMs = (t: number, decimals: number) => `${(t / 1e6).toFixed(Math.max(0, decimals - 3))} ms`;

export function timeLabel(t: number, first: number, span: number): string {
	if (span > LONG) return longTime(t, span);
	if (span > 2e3 && first >= 0 && first + span < 1e9) return tick(inMs(t, timeDecimals(span)));
	if (span > 2e3 || t === first) return tick(`${(t / 1e9).toFixed(timeDecimals(span))} s`);
	return `+${tick(duration(t - first))}`;
}

/** A point in time among those of a range, with two more digits than its axis. */
export function timeWithin(t: number, span: number): string {
	if (span > LONG) return longTime(t, span, span > HOURS ? 0 : 1);
	const decimals = Math.min(9, timeDecimals(span) + 2);
	return t >= 0 && t + span < 1e9 ? inMs(t, decimals) : `${(t / 1e9).toFixed(decimals)} s`;
}

/** The tables of which a chart shows rows: marks are drawn where those are missing. Null: unknown, so any. */
export type Of = readonly string[] | null;
export const CALLS: Of = ['op'];

export function drawLoss(c: CanvasRenderingContext2D, windows: LossWindow[] | undefined, of: Of, x: Scale, left: number, right: number, top: number, bottom: number) {
	c.fillStyle = theme.colour('warn');
	for (const w of windows ?? []) {
		if (w.cause in incompleteRows || recordingNotes.has(w.cause)) continue;
		if (of && (w.table === null ? of.includes('op') : !of.includes(w.table))) continue;
		const a = Math.max(left, x.at(w.from));
		const b = Math.min(right, Math.max(x.at(w.to), x.at(w.from) + 2));
		if (b <= left || a >= right) continue;
		c.globalAlpha = 0.14;
		c.fillRect(a, top, b - a, bottom - top);
		c.globalAlpha = 1;
		c.fillRect(a, top, b - a, 2);
	}
}

/** The line, and its time on the axis. */
export function drawCross(c: CanvasRenderingContext2D, t: number | null, x: Scale, left: number, right: number, top: number, bottom: number) {
	if (t === null) return;
	const at = Math.round(x.at(t)) + 0.5;
	if (at < left || at > right) return;
	c.strokeStyle = theme.colour('text');
	c.globalAlpha = 0.5;
	c.beginPath();
	c.moveTo(at, top);
	c.lineTo(at, bottom);
	c.stroke();
	c.globalAlpha = 1;
	const text = timeWithin(t, x.back(right) - x.back(left));
	c.font = `11px ${theme.colour('sans')}`;
	c.textAlign = 'center';
	c.textBaseline = 'top';
	const half = c.measureText(text).width / 2 + 5;
	const middle = Math.max(left + half, Math.min(at, right - half));
	c.fillStyle = theme.colour('raised');
	c.fillRect(middle - half, bottom + 2, 2 * half, AXIS - 2);
	c.fillStyle = theme.colour('text');
	c.fillText(text, middle, bottom + 5);
}
