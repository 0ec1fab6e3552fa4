// SPDX-License-Identifier: Apache-2.0
// The lanes of the timeline: where they stand, and drawing what the server gave for them.

import type { Lane } from '../lib/api';
import type { Columns } from '../lib/columns';
import type { Scale } from '../lib/scales';
import { opColour, theme } from '../lib/theme.svelte';

export const LANE = 20; // pixels of a lane
export const GROUP = 22; // pixels of a group's head
const BAR = 14;

export type Place = { kind: 'group'; title: string; y: number } | { kind: 'lane'; lane: Lane; y: number };

/** Lanes under the heads of their processes (containers and hosts are part of a head where there are several): the main
 * thread first, then who called most. */
export function place(given: Lane[]): { places: Place[]; height: number } {
	const order = new Map<string, number>();
	for (const l of given) {
		const process = `${l.host}/${l.pid}`;
		if (!order.has(process)) order.set(process, order.size);
	}
	const main = (l: Lane) => (l.tid === l.pid ? 1 : 0);
	const lanes = [...given].sort((a, b) => order.get(`${a.host}/${a.pid}`)! - order.get(`${b.host}/${b.pid}`)! || main(b) - main(a) || b.calls - a.calls);
	const hosts = new Set(lanes.map((l) => l.host)).size > 1;
	const places: Place[] = [];
	let y = 0;
	let group = '';
	for (const lane of lanes) {
		const title = [hosts ? lane.host : '', lane.container ? lane.container.slice(0, 12) : '', `${lane.process} ${lane.pid}`].filter(Boolean).join(' / ');
		if (title !== group) {
			places.push({ kind: 'group', title, y });
			y += GROUP;
			group = title;
		}
		places.push({ kind: 'lane', lane, y });
		y += LANE;
	}
	return { places, height: y };
}

/** What one answer of /timeline holds, ready to be drawn and asked for what is at a point. */
export class Bars {
	readonly start: Float64Array;
	readonly dur: Float64Array;
	readonly row: Float64Array;
	readonly count: Float64Array;
	private busy: Float64Array;
	private op: Uint32Array;
	private ops: string[];
	private cls: Uint32Array;
	private classes: string[];
	private err: Uint32Array;
	private errs: string[];
	/** For each lane its bars, ordered by start. */
	private lanes = new Map<number, Uint32Array>();
	private colours: string[];

	constructor(columns: Columns) {
		this.start = columns.numbers('start');
		this.dur = columns.numbers('dur');
		this.row = columns.numbers('row');
		this.count = columns.numbers('count');
		this.busy = columns.numbers('busy');
		this.op = columns.codes('op');
		this.ops = columns.words('op');
		this.cls = columns.codes('class');
		this.classes = columns.words('class');
		this.err = columns.codes('err');
		this.errs = columns.words('err');
		const lane = columns.numbers('lane');
		const found = new Map<number, number[]>();
		for (let i = 0; i < columns.rows; i++) {
			const list = found.get(lane[i]!);
			if (list) list.push(i);
			else found.set(lane[i]!, [i]);
		}
		for (const [id, list] of found) this.lanes.set(id, Uint32Array.from(list.sort((a, b) => this.start[a]! - this.start[b]!)));
		// a bar's colour is that of its operation and class: worked out once
		const known = new Map<number, string>();
		this.colours = Array.from({ length: columns.rows }, (_, i) => {
			const key = this.op[i]! * 64 + this.cls[i]!;
			let colour = known.get(key);
			if (colour === undefined) known.set(key, (colour = opColour(this.ops[this.op[i]!] ?? '', this.classes[this.cls[i]!] ?? '')));
			return colour;
		});
	}

	has(lane: number): boolean {
		return this.lanes.has(lane);
	}

	text(i: number): { op: string; err: string | undefined } {
		return { op: this.ops[this.op[i]!] ?? '?', err: this.errs[this.err[i]!] };
	}

	draw(c: CanvasRenderingContext2D, lane: number, y: number, x: Scale, left: number, right: number, chosen: number | null) {
		const list = this.lanes.get(lane);
		if (!list) return;
		const top = y + (LANE - BAR) / 2;
		let colour = '';
		for (const i of list) {
			const a = x.at(this.start[i]!);
			if (a > right) break;
			const b = x.at(this.start[i]! + this.dur[i]!);
			if (b < left) continue;
			const from = Math.max(left, a);
			const width = Math.max(1, Math.min(right, b) - from - (b - a > 3 ? 0.5 : 0));
			if (this.colours[i] !== colour) c.fillStyle = theme.colour((colour = this.colours[i]!));
			const single = !Number.isNaN(this.row[i]!);
			c.globalAlpha = single ? 1 : 0.25 + 0.75 * Math.min(1, this.busy[i]!);
			c.fillRect(from, top, width, BAR);
			c.globalAlpha = 1;
			if (this.errs[this.err[i]!] && width > 1.5) {
				c.fillStyle = theme.colour('bad');
				c.fillRect(from, top + BAR - 3, width, 3);
				colour = '';
			}
			if (single && this.row[i] === chosen) {
				c.strokeStyle = theme.colour('text');
				c.lineWidth = 2;
				c.strokeRect(from, top, Math.max(2, width), BAR);
				c.lineWidth = 1;
			}
			if (width > 46 && single) {
				c.fillStyle = theme.colour('ground');
				c.fillText(this.ops[this.op[i]!] ?? '', from + 4, top + BAR / 2 + 0.5, width - 6);
				colour = '';
			}
		}
	}

	/** The bar at a time (give or take `slack`), the shortest where several overlap; -1 where there is none. */
	at(lane: number, t: number, slack: number): number {
		let best = -1;
		for (const i of this.lanes.get(lane) ?? []) {
			if (this.start[i]! - slack > t) break;
			if (this.start[i]! + Math.max(this.dur[i]!, 0) + slack < t) continue;
			if (best < 0 || this.dur[i]! <= this.dur[best]!) best = i;
		}
		return best;
	}
}
