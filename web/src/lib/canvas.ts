// SPDX-License-Identifier: Apache-2.0
// Shared by every canvas: sharp pixels on any screen, redrawing when its size or its data changes.

export interface Size {
	width: number;
	height: number;
}

/** Keeps the canvas as large as its box, in device pixels; calls back with the size in CSS pixels. */
export function watchSize(canvas: HTMLCanvasElement, changed: (size: Size) => void): () => void {
	const observer = new ResizeObserver(() => changed({ width: canvas.clientWidth, height: canvas.clientHeight }));
	observer.observe(canvas);
	return () => observer.disconnect();
}

/** A cleared context in CSS pixels. */
export function prepare(canvas: HTMLCanvasElement, { width, height }: Size): CanvasRenderingContext2D {
	const ratio = devicePixelRatio || 1;
	const w = Math.max(1, Math.round(width * ratio));
	const h = Math.max(1, Math.round(height * ratio));
	if (canvas.width !== w) canvas.width = w;
	if (canvas.height !== h) canvas.height = h;
	const context = canvas.getContext('2d')!;
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, width, height);
	return context;
}

/** Restricts drawing to the plot. */
export function inside(c: CanvasRenderingContext2D, plot: { left: number; right: number; bottom: number }, draw: () => void) {
	c.save();
	c.beginPath();
	c.rect(plot.left, 0, plot.right - plot.left, plot.bottom);
	c.clip();
	draw();
	c.restore();
}

/** A picture of width x height cells, one pixel each, for drawing at any scale. */
export function picture(width: number, height: number, fill: (pixels: Uint32Array) => void): HTMLCanvasElement {
	const canvas = document.createElement('canvas');
	canvas.width = Math.max(1, width);
	canvas.height = Math.max(1, height);
	const context = canvas.getContext('2d')!;
	const image = context.createImageData(canvas.width, canvas.height);
	fill(new Uint32Array(image.data.buffer));
	context.putImageData(image, 0, 0);
	return canvas;
}

/** Pixels computed for every frame; the canvas behind them is created once. */
export class Raster {
	private canvas = document.createElement('canvas');
	private image: ImageData | null = null;

	/** Cleared pixels, row by row from the top. */
	begin(width: number, height: number): Uint32Array {
		if (this.image?.width !== width || this.image.height !== height) {
			[this.canvas.width, this.canvas.height] = [width, height];
			this.image = new ImageData(width, height);
		} else this.image.data.fill(0);
		return new Uint32Array(this.image.data.buffer);
	}

	/** Returns what was painted, as a source for drawing. */
	end(): HTMLCanvasElement {
		this.canvas.getContext('2d')!.putImageData(this.image!, 0, 0);
		return this.canvas;
	}
}

/** The colour #rrggbb as a pixel of image data (little-endian, as every machine with a browser is). */
export function pixel(colour: string, alpha = 1): number {
	const n = /^#[0-9a-f]{6}$/i.test(colour) ? parseInt(colour.slice(1), 16) : 0x888888;
	return ((Math.round(alpha * 255) << 24) | ((n & 255) << 16) | (n & 0xff00) | (n >> 16)) >>> 0;
}

/** Dark or light, whichever is legible on a colour #rrggbb. */
export function inkOn(colour: string): string {
	const n = pixel(colour);
	const light = 0.299 * (n & 255) + 0.587 * ((n >> 8) & 255) + 0.114 * ((n >> 16) & 255);
	return light > 110 ? '#0b1014' : '#ffffff';
}

const LIGHTEST = 0.74; // of the way to yellow: a lighter colour is not visible on white

/** Colours of a density from 0 to 1: dark to light in the dark theme, the reverse in the light one. */
export function densityColours(light: boolean): Uint32Array {
	// from Viridis: even steps of lightness, the same for every colour vision
	const stops: [number, number, number][] = [
		[68, 1, 84],
		[59, 82, 139],
		[33, 145, 140],
		[94, 201, 98],
		[253, 231, 37],
	];
	const colours = new Uint32Array(256);
	for (let i = 0; i < 256; i++) {
		const x = (light ? (1 - i / 255) * LIGHTEST : i / 255) * (stops.length - 1);
		const at = Math.min(stops.length - 2, Math.floor(x));
		const [a, b, f] = [stops[at]!, stops[at + 1]!, x - at];
		const mix = (c: 0 | 1 | 2) => Math.round(a[c] + (b[c] - a[c]) * f);
		colours[i] = (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0);
	}
	return colours;
}
