// SPDX-License-Identifier: Apache-2.0
// The time range on the screen. It changes at once (keys, wheel), with every chart; the address and the data follow when it stops
// changing.

import { fitRange, SHORTEST } from './scales';
import { session } from './session.svelte';
import { state as shared } from './state.svelte';

const SETTLE_MS = 120;
const STEP_MS = 1500; // movements closer together are one step of the browser's history
const ZOOM_PER_S = 2.4; // while a key is held: powers of e
const PAN_PER_S = 1; // screens

class Range {
	private moving = $state.raw<{ from: number; to: number } | null>(null);
	private settling: ReturnType<typeof setTimeout> | undefined;
	private rested = -Infinity;

	from = $derived(this.moving?.from ?? shared.view.from ?? session.trace?.first ?? 0);
	to = $derived(Math.max(this.moving?.to ?? shared.view.to ?? session.trace?.last ?? 1, this.from + SHORTEST));

	/** As in the address: constant while the screen moves. */
	span = $derived(Math.max(1, (shared.view.to ?? session.trace?.last ?? 1) - (shared.view.from ?? session.trace?.first ?? 0)));

	show(from: number, to: number) {
		const trace = session.trace;
		if (!trace) return;
		const [a, b] = fitRange(from, to, trace.first, trace.last);
		this.moving = { from: a, to: b };
		clearTimeout(this.settling);
		this.settling = setTimeout(() => this.rest(), SETTLE_MS);
	}

	private rest() {
		const to = this.moving;
		if (!to) return;
		shared.range(to.from, to.to, performance.now() - this.rested < STEP_MS);
		this.rested = performance.now();
		this.moving = null;
	}

	zoom(factor: number, about: number) {
		this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
	}

	pan(screens: number) {
		const by = (this.to - this.from) * screens;
		this.show(this.from + by, this.to + by);
	}

	/** A wheel over a chart: Ctrl zooms, Shift or sideways pans, otherwise the page scrolls. */
	wheel(e: WheelEvent, time: number, width: number) {
		if (e.ctrlKey || e.metaKey) this.zoom(Math.exp(e.deltaY * 0.002), time);
		else if (e.shiftKey || Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.pan((e.deltaX || e.deltaY) / width);
		else return;
		e.preventDefault();
	}

	// W A S D move the range while held, once per frame.
	private held = new Set<string>();
	private frame = 0;
	private before = 0;

	/** True if the key moves the range. */
	press(key: string): boolean {
		if (!'wasd'.includes(key) || key.length !== 1) return false;
		this.held.add(key);
		if (!this.frame) {
			this.before = performance.now();
			this.frame = requestAnimationFrame(this.step);
		}
		return true;
	}

	release(key?: string) {
		if (key === undefined) this.held.clear();
		else this.held.delete(key);
	}

	private step = (now: number) => {
		const seconds = Math.max(0, Math.min(0.05, (now - this.before) / 1000));
		this.before = now;
		const cross = shared.cross;
		const about = cross !== null && cross > this.from && cross < this.to ? cross : (this.from + this.to) / 2;
		if (this.held.has('w')) this.zoom(Math.exp(-ZOOM_PER_S * seconds), about);
		if (this.held.has('s')) this.zoom(Math.exp(ZOOM_PER_S * seconds), about);
		if (this.held.has('a')) this.pan(-PAN_PER_S * seconds);
		if (this.held.has('d')) this.pan(PAN_PER_S * seconds);
		this.frame = this.held.size ? requestAnimationFrame(this.step) : 0;
	};
}

export const range = new Range();
