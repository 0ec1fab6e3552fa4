// SPDX-License-Identifier: Apache-2.0
// Pointer on a chart over time: the shared cross-hair, and dragging a range that becomes the view's.

import type { Scale } from '../lib/scales';
import { state as shared } from '../lib/state.svelte';

const CLICK = 4; // pixels: less is no drag

export class Brush {
	/** Pixels, while a range is being dragged. */
	from = $state<number | null>(null);
	to = $state(0);

	constructor(
		private scale: () => Scale,
		private clicked?: (x: number, y: number) => void,
	) {}

	down = (e: PointerEvent) => {
		if (e.button !== 0) return;
		(e.currentTarget as Element).setPointerCapture(e.pointerId);
		this.from = this.to = e.offsetX;
	};

	move = (e: PointerEvent) => {
		shared.cross = this.scale().back(e.offsetX);
		if (this.from !== null) this.to = e.offsetX;
	};

	up = (e: PointerEvent) => {
		if (this.from === null) return;
		const [a, b] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
		this.from = null;
		if (b - a < CLICK) this.clicked?.(e.offsetX, e.offsetY);
		else shared.range(this.scale().back(a), this.scale().back(b));
	};

	leave = () => {
		shared.cross = null;
	};

	draw(c: CanvasRenderingContext2D, top: number, bottom: number, colour: string) {
		if (this.from === null) return;
		const [a, b] = [Math.min(this.from, this.to), Math.max(this.from, this.to)];
		c.fillStyle = colour;
		c.globalAlpha = 0.22;
		c.fillRect(a, top, b - a, bottom - top);
		c.globalAlpha = 1;
	}
}
