// SPDX-License-Identifier: Apache-2.0
// The answer of `weir flow --json`, and its conversion for the space-time picture.

import type { Loss } from './api';
import { count, size } from './format';

export interface FlowVerdict {
	number: number;
	verdict: string;
	file: string | null;
	from: number | null;
	to: number | null;
	bytes: number | null;
	host: string | null;
	process: string | null;
	pid: number | null;
	first_call: string | null;
	first_at: number | null;
	second_call: string | null;
	second_at: number | null;
	second_observation: string | null;
	note: string | null;
}

export interface FlowEvidence {
	verdict: number;
	label: string;
	who: string;
	call: string | null;
	at: number | null;
	text: string | null;
}

export interface FlowEdge {
	via: string;
	certainty: string;
	from_host: string;
	from_process: string | null;
	from_tid: number | null;
	from_call: string;
	from_start: number;
	to_host: string;
	to_process: string | null;
	to_tid: number | null;
	to_call: string;
	to_end: number;
	from_op: number | null;
	to_op: number | null;
	file: string | null;
	pos: number | null;
	bytes: number | null;
	from_lamport: number;
	to_lamport: number;
}

/** Objects that one process or folder passed on to another, or that are there, from nobody knows where. */
export interface FlowHop {
	from: string | null;
	to: string;
	objects: number;
	bytes: number;
	lag: number;
}

export interface FlowClock {
	host: string;
	offset: number;
	half: number;
	drift_low: number;
	drift_high: number;
	pairs: number;
}

export interface Flow {
	rows: FlowVerdict[];
	loss: Loss;
	calls: number;
	operations: number;
	edges: number;
	contradictions: number;
	cycles: number;
	unplaced: number;
	unfollowed: number;
	unjudged: number;
	mapped_unseen: boolean;
	mapped_unsure: number;
	uncompared: number;
	left_out: number;
	tables: {
		evidence: { rows: FlowEvidence[] };
		replication: { rows: { way: string; objects: number; bytes: number; lags: string }[] };
		hops: { rows: FlowHop[] };
		edges: { rows: { via: string; certain: number; contested: number }[] };
		clocks: { rows: FlowClock[] };
		list?: { rows: FlowEdge[] };
	};
}

/** What the result does not know, in the words of `weir flow`. */
export function unknownOf(f: Flow): string[] {
	const counted = (n: number, what: string) => `${count(n)} ${what}${n === 1 ? '' : 's'}`;
	const all: [number | boolean, string][] = [
		[f.unplaced, `${counted(f.unplaced, 'call')} on streams that began before the recording`],
		[f.unfollowed, `${counted(f.unfollowed, 'call')} that moved datagrams whose other end was not found`],
		[f.unjudged, `${counted(f.unjudged, 'message')} altered, not received or not sent on, but equal to others or not alone`],
		[f.mapped_unseen, 'files were mapped for writing and not read afterwards: what was stored in them is not known'],
		[f.mapped_unsure, `${size(f.mapped_unsure)} stored through mappings of several processes, not known by which`],
		[f.uncompared, `${counted(f.uncompared, 'file')} not compared with others of the name, as there are too many folders`],
		[f.contradictions + f.cycles, `contradictions: ${count(f.contradictions + f.cycles)}`],
		[f.left_out, `left out, as they do not fit into memory: ${count(f.left_out)}; select a range`],
	];
	return all.filter(([is]) => is).map(([, text]) => text);
}

/** The colour of each reason, a variable of app.css. */
const COLOURS: Record<string, string> = { stream: 'net', datagram: 'net', pipe: 'write', storage: 'read', publish: 'read', sync: 'sync', futex: 'process', lock: 'process', fork: 'meta', join: 'meta', exec: 'meta' };
export const colourOf = (via: string): string => COLOURS[via] ?? 'other';

/** An edge for the picture: the lanes of its ends, and their positions by time and by Lamport's numbers. */
export interface Arrow {
	from: number;
	to: number;
	time: [number, number];
	logical: [number, number];
	edge: FlowEdge;
}

export interface SpaceTime {
	lanes: { host: string; process: string }[];
	arrows: Arrow[];
	of: 'processes' | 'hosts';
}

/** A lane per process, in the order of hosts and of first activity, or one per host. */
export function spaceTime(edges: FlowEdge[], hidden: ReadonlySet<string>, of: SpaceTime['of']): SpaceTime {
	const first = new Map<string, { host: string; process: string; at: number }>();
	const name = (process: string | null) => (of === 'hosts' ? '' : (process ?? '?'));
	const key = (host: string, process: string | null) => `${host}\n${name(process)}`;
	const meet = (host: string, process: string | null, at: number) => {
		const k = key(host, process);
		const known = first.get(k);
		if (!known) first.set(k, { host, process: name(process), at });
		else known.at = Math.min(known.at, at);
	};
	for (const e of edges) {
		meet(e.from_host, e.from_process, e.from_start);
		meet(e.to_host, e.to_process, e.to_end);
	}
	const hosts = new Map<string, number>();
	for (const l of first.values()) hosts.set(l.host, Math.min(hosts.get(l.host) ?? Infinity, l.at));
	const lanes = [...first.values()].sort((a, b) => hosts.get(a.host)! - hosts.get(b.host)! || (a.host < b.host ? -1 : a.host > b.host ? 1 : 0) || a.at - b.at);
	const lane = new Map(lanes.map((l, i) => [key(l.host, l.process), i]));
	const arrows = edges
		.filter((e) => !hidden.has(e.via))
		.map((edge) => ({
			from: lane.get(key(edge.from_host, edge.from_process))!,
			to: lane.get(key(edge.to_host, edge.to_process))!,
			time: [edge.from_start, edge.to_end] as [number, number],
			logical: [edge.from_lamport, edge.to_lamport] as [number, number],
			edge,
		}));
	return { lanes, arrows, of };
}

export interface Replication {
	nodes: { name: string; column: number; row: number }[];
	links: { from: number; to: number; hop: FlowHop }[];
}

/** The hops as a graph: a node is right of all that it got objects from. */
export function replication(hops: FlowHop[]): Replication {
	const names = [...new Set(hops.flatMap((h) => [h.from, h.to]).filter((n) => n !== null))];
	const nodes = names.map((name) => ({ name, column: 0, row: 0 }));
	const links = hops.filter((h) => h.from !== null).map((hop) => ({ from: names.indexOf(hop.from!), to: names.indexOf(hop.to), hop }));
	// a cycle ends with the last column
	for (const _ of nodes) for (const l of links) nodes[l.to]!.column = Math.min(nodes.length - 1, Math.max(nodes[l.to]!.column, nodes[l.from]!.column + 1));
	const used: number[] = [];
	for (const n of nodes) n.row = used[n.column] = (used[n.column] ?? -1) + 1;
	return { nodes, links };
}

/** "bytes 65,536..65,551" */
export function rangeOf(v: { from: number | null; to: number | null }): string {
	return v.from === null || v.to === null ? '' : `bytes ${v.from.toLocaleString('en')}..${v.to.toLocaleString('en')}`;
}

/** A row of `weir flow --of`. */
export interface FlowPlace {
	depth: number;
	host: string;
	who: string;
	call: string;
	file: string | null;
	at: number;
	delay: number;
	bytes: number | null;
	via: string | null;
}

/** Places of one kind below one place: the same calls of the same process on the same file. */
export interface Lineage {
	place: FlowPlace;
	calls: number;
	bytes: number;
	first: number;
	last: number;
	below: Lineage[];
}

/** The tree of places, from rows in depth-first order, with equal places merged. */
export function lineage(rows: FlowPlace[]): Lineage[] {
	const roots: Lineage[] = [];
	const keys = new WeakMap<Lineage[], Map<string, Lineage>>();
	const path: Lineage[] = [];
	for (const p of rows) {
		path.length = Math.min(path.length, p.depth);
		const under = path.length ? path[path.length - 1]!.below : roots;
		const key = [p.via, p.host, p.who, p.call, p.file].join('\n');
		let known = keys.get(under);
		if (!known) keys.set(under, (known = new Map<string, Lineage>()));
		let l = known.get(key);
		if (!l) {
			known.set(key, (l = { place: p, calls: 0, bytes: 0, first: p.delay, last: p.delay, below: [] }));
			under.push(l);
		}
		l.calls++;
		l.bytes += Math.max(0, p.bytes ?? 0);
		l.first = Math.min(l.first, p.delay);
		l.last = Math.max(l.last, p.delay);
		path.push(l);
	}
	return roots;
}

/** Arrows only a few pixels apart, drawn as one. */
export interface Bundle {
	from: number;
	to: number;
	x0: number;
	x1: number;
	colour: string;
	count: number;
}

/** Merges arrows of the same lanes and colour whose ends are within `step` pixels of each other. */
export function bundles(arrows: Arrow[], ends: (a: Arrow) => [number, number], colour: (a: Arrow) => string, step: number): Bundle[] {
	const known = new Map<string, Bundle>();
	for (const a of arrows) {
		const [x0, x1] = ends(a);
		const c = colour(a);
		const key = `${a.from} ${a.to} ${Math.round(x0 / step)} ${Math.round(x1 / step)} ${c}`;
		const b = known.get(key);
		if (b) b.count++;
		else known.set(key, { from: a.from, to: a.to, x0, x1, colour: c, count: 1 });
	}
	return [...known.values()];
}
