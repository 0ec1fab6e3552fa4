// SPDX-License-Identifier: Apache-2.0
// What every canvas needs: sharp pixels on any screen, a redraw when its size or what it reads changes.

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

/** Colours of a density from nothing (0) to much (1): dark to light in the dark theme, the other way in the light one. */
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
		const x = ((light ? 255 - i : i) / 255) * (stops.length - 1);
		const at = Math.min(stops.length - 2, Math.floor(x));
		const [a, b, f] = [stops[at]!, stops[at + 1]!, x - at];
		const mix = (c: 0 | 1 | 2) => Math.round(a[c] + (b[c] - a[c]) * f);
		colours[i] = (255 << 24) | (mix(2) << 16) | (mix(1) << 8) | mix(0);
	}
	return colours;
}
