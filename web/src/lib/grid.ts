// SPDX-License-Identifier: Apache-2.0
// The grid of a dashboard: tiles neither overlap nor leave a gap above them.

export interface Box {
	x: number;
	y: number;
	w: number;
	h: number;
}

export const COLUMNS = 12;
export const SMALLEST = 2;
export const TALLEST = 20;

const overlap = (a: Box, b: Box) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/** Clamps a box to the allowed sizes, within the columns. */
export function fit(box: Box): Box {
	const whole = (n: number, low: number, high: number) => Math.max(low, Math.min(high, Math.round(Number.isFinite(n) ? n : low)));
	const w = whole(box.w, SMALLEST, COLUMNS);
	return { w, h: whole(box.h, SMALLEST, TALLEST), x: whole(box.x, 0, COLUMNS - w), y: whole(box.y, 0, 1000) };
}

/**
 * The final positions of the boxes: the moved one where it was put, the others below what is in their way, all as far up as
 * possible. In the order of `boxes`.
 */
export function settle(boxes: Box[], moved = -1): Box[] {
	const all = boxes.map(fit);
	const order = all.map((_, i) => i).sort((a, b) => (a === moved ? -1 : b === moved ? 1 : all[a]!.y - all[b]!.y || all[a]!.x - all[b]!.x));
	const placed: Box[] = [];
	for (const i of order) {
		const box = all[i]!;
		for (let other; (other = placed.find((p) => overlap(p, box))); ) box.y = other.y + other.h;
		placed.push(box);
	}
	placed.sort((a, b) => a.y - b.y || a.x - b.x);
	placed.forEach((box, i) => {
		const above = placed.slice(0, i);
		while (box.y > 0 && !above.some((p) => overlap(p, { ...box, y: box.y - 1 }))) box.y--;
	});
	return all;
}
