// SPDX-License-Identifier: Apache-2.0
// Equal and similar data: the answers of `weir flow --groups --list --json` and `--order --json`, and groups at any threshold.

import type { Loss } from './api';

export interface AlikeMember {
	group: number;
	kind: number;
	process: string | null;
	call: string;
	file: string | null;
	pos: number | null;
	bytes: number;
	at: number;
	op: number;
}

export interface Alike {
	rows: { group: number; data: string; similarity: number; members: number; kinds: number; bytes: number; files: number; file: string | null }[];
	loss: Loss;
	parts: 'cut' | 'piece';
	calls: number;
	unknown: number;
	kinds: number;
	error: number;
	calls_left_out: number;
	parts_left_out: number;
	sets_left_out: number;
	pairs_left_out: number;
	tables: {
		members: { rows: AlikeMember[] };
		links: { rows: { a: number; b: number; similarity: number }[] };
	};
}

export interface Epoch {
	epoch: number;
	reads: number;
	bytes: number;
	first: number;
	last: number;
	common: number;
	order: string | null;
	tau: number | null;
	neighbours: number | null;
}

export interface OrderRead {
	epoch: number;
	place: number;
	data: number;
	process: string | null;
	file: string | null;
	pos: number | null;
	bytes: number;
	at: number;
}

export interface Order {
	rows: Epoch[];
	loss: Loss;
	once: number;
	unknown: number;
	calls_left_out: number;
	tables: { reads: { rows: OrderRead[] } };
}

/** The least share of common parts at which the tool looks for pairs. */
export const LEAST = 50;
const STEPS = [100, 90, 80, 70, 60];
const COLOURS = ['read', 'write', 'meta', 'sync', 'net', 'process', 'more1', 'more2', 'more3', 'more4', 'more5'];

/** Joins kinds of data that are linked by at least this many percent: maps each to its group, named by one of its kinds. */
export function joined(links: Alike['tables']['links']['rows'], least: number): (kind: number) => number {
	const parent = new Map<number, number>();
	const root = (k: number): number => {
		let at = k;
		for (let up = parent.get(at); up !== undefined && up !== at; up = parent.get(at)) at = up;
		for (let up = parent.get(k); up !== undefined && up !== at; up = parent.get(k)) {
			parent.set(k, at);
			k = up;
		}
		return at;
	};
	for (const l of links) {
		if (l.similarity * 100 < least - 1e-6) continue;
		const [a, b] = [root(l.a), root(l.b)];
		if (a !== b) parent.set(Math.max(a, b), Math.min(a, b));
	}
	return root;
}

/** What the space-time picture shows of content: the colour of a call's data, and which other calls have similar data. */
export class Content {
	/** Groups of calls that are drawn, the most frequent first: their colour, and the number of calls with their data. */
	readonly groups: { root: number; colour: string; calls: number; file: string | null }[];
	private byOp = new Map<number, number>();
	private equals = new Map<number, number>();
	private colours = new Map<number, string>();
	private sizes = new Map<number, Map<number, number>>();
	private roots = new Map<number, (kind: number) => number>();

	constructor(
		private alike: Alike,
		readonly least: number,
		drawn: (op: number) => boolean = () => true,
	) {
		const files = new Map<number, string | null>();
		const often = new Map<number, number>();
		for (const m of alike.tables.members.rows) {
			this.byOp.set(m.op, m.kind);
			this.equals.set(m.kind, (this.equals.get(m.kind) ?? 0) + 1);
			const r = this.root(least)(m.kind);
			if (!files.has(r)) files.set(r, m.file);
			if (drawn(m.op)) often.set(r, (often.get(r) ?? 0) + 1);
		}
		this.groups = [...this.sizesOf(least)]
			.filter(([root, calls]) => calls > 1 && often.has(root))
			.sort((a, b) => often.get(b[0])! - often.get(a[0])! || a[0] - b[0])
			.map(([root, calls], i) => ({ root, calls, colour: COLOURS[i % COLOURS.length]!, file: files.get(root) ?? null }));
		for (const g of this.groups) this.colours.set(g.root, g.colour);
	}

	private root(least: number) {
		let r = this.roots.get(least);
		if (!r) this.roots.set(least, (r = joined(this.alike.tables.links.rows, least)));
		return r;
	}

	private sizesOf(least: number): Map<number, number> {
		let sizes = this.sizes.get(least);
		if (!sizes) {
			this.sizes.set(least, (sizes = new Map<number, number>()));
			const root = this.root(least);
			for (const [kind, calls] of this.equals) sizes.set(root(kind), (sizes.get(root(kind)) ?? 0) + calls);
		}
		return sizes;
	}

	/** The colour name for the data of these calls; null: no other data is similar, or it is unknown. */
	colour(ops: (number | null)[]): string | null {
		for (const op of ops) {
			const kind = op === null ? undefined : this.byOp.get(op);
			const colour = kind === undefined ? undefined : this.colours.get(this.root(this.least)(kind));
			if (colour) return colour;
		}
		return null;
	}

	/** "equal: 4 calls, 90 % and more: 7" */
	words(ops: (number | null)[]): string {
		const op = ops.find((o) => o !== null && this.byOp.has(o));
		if (op === undefined || op === null) return 'no similar data';
		const kind = this.byOp.get(op)!;
		const equal = this.equals.get(kind)!;
		const said = [`identical in ${equal} ${equal === 1 ? 'call' : 'calls'}`];
		let before = equal;
		for (const step of STEPS) {
			const calls = this.sizesOf(step).get(this.root(step)(kind)) ?? equal;
			if (calls > before) said.push(`${step === 100 ? 'the same parts' : `${step} % or more`} in ${calls}`);
			before = Math.max(before, calls);
		}
		return said.join(', ');
	}
}
