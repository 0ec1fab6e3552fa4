// SPDX-License-Identifier: Apache-2.0
// The layout of the timeline's lanes: processes under their parents, pinned lanes first, folded ones in one line.

import type { Lane } from '../lib/api';
import { count } from '../lib/format';
import { GROUP, LANE } from './lanes';

const INDENT = 10; // pixels per level of processes
const DEEPEST = 6; // deeper levels are drawn like this one
/** Lanes of a folded process are drawn small, at most this many. */
export const SMALL_MOST = 8;

interface Stands {
	/** Identifies the place for moving, folding and remembering: a process, a lane, or folded lanes. */
	key: string;
	title: string;
	y: number;
	indent: number;
	/** Stays at the top, independent of scrolling. */
	pinned?: boolean;
}
export type Place =
	| (Stands & { kind: 'group'; open: boolean; lanes: Lane[]; movable: boolean })
	| (Stands & { kind: 'lane'; lane: Lane; alone: boolean; movable: boolean; opens: boolean; open: boolean })
	| (Stands & { kind: 'idle'; lanes: Lane[]; open: boolean });

export const highOf = (p: Place) => (p.kind === 'lane' ? LANE : GROUP);

/** The reader's choices: what is folded (or unfolded, if folded by default), pinned, and moved. */
export interface Wishes {
	folded: ReadonlySet<string>;
	unfolded: ReadonlySet<string>;
	pinned: readonly number[];
	/** Keys of processes and of threads in the chosen order; others keep theirs. */
	order: readonly string[];
}
export const NO_WISHES: Wishes = { folded: new Set(), unfolded: new Set(), pinned: [], order: [] };

interface Process {
	key: string;
	parent: Process | null;
	lanes: Lane[];
	children: Process[];
	title: string;
}

const keyOf = (l: Lane) => `${l.host}/${l.pid}`;
const IDLE = 0.001; // of the time in calls: threads with no more than that, apart from waiting, are idle
const waited = (l: Lane) => l.wait_time > 0 && l.time <= IDLE * l.wait_time;
/** If all threads only wait, as with a filter for such calls, none counts as idle. */
const idleOf = (lanes: readonly Lane[]): ((l: Lane) => boolean) => (lanes.every(waited) ? () => false : waited);
const laneKey = (l: Lane) => `t${l.id}`;

/** Processes with their threads, the main thread first, then by calls; each under its parent if that is present. */
function processesOf(lanes: readonly Lane[]): Process[] {
	const by = new Map<string, Process>();
	for (const lane of lanes) {
		const process = by.get(keyOf(lane));
		if (process) process.lanes.push(lane);
		else by.set(keyOf(lane), { key: '', parent: null, lanes: [lane], children: [], title: '' });
	}
	const hosts = new Set(lanes.map((l) => l.host)).size > 1;
	const main = (l: Lane) => (l.tid === l.pid ? 1 : 0);
	for (const p of by.values()) {
		p.lanes.sort((a, b) => main(b) - main(a) || b.calls - a.calls);
		const l = p.lanes[0]!;
		p.key = `p${p.lanes.reduce((least, o) => Math.min(least, o.id), l.id)}`;
		p.title = [hosts ? l.host : '', l.container ? l.container.slice(0, 12) : '', `${l.process} ${l.pid} ${l.argument ?? ''}`.trimEnd()].filter(Boolean).join(' / ');
	}
	for (const p of by.values()) {
		const parent = by.get(`${p.lanes[0]!.host}/${p.lanes[0]!.ppid}`) ?? null;
		// pids are reused: a process cannot be the parent of its own ancestor
		let above = parent;
		while (above && above !== p) above = above.parent;
		if (above === p) continue;
		p.parent = parent;
		parent?.children.push(p);
	}
	return [...by.values()];
}

/** Puts moved elements in their order; others keep their positions. */
function inOrder<T>(list: readonly T[], keyed: (t: T) => string, order: readonly string[]): T[] {
	const rank = new Map(order.map((key, i) => [key, i]));
	const known = list.filter((t) => rank.has(keyed(t))).sort((a, b) => rank.get(keyed(a))! - rank.get(keyed(b))!);
	return list.map((t) => (rank.has(keyed(t)) ? known.shift()! : t));
}

const processKey = (p: Process) => p.key;

/** True if neither the process nor any below it did anything but wait. */
const sleeps = (p: Process, isIdle: (l: Lane) => boolean): boolean => p.lanes.every(isIdle) && p.children.every((c) => sleeps(c, isIdle));

/** The threads of a process that are drawn below it, and those in one line, each in order. */
function threadsOf(p: Process, wishes: Wishes, isIdle: (l: Lane) => boolean): { busy: Lane[]; idle: Lane[] } {
	const shown = inOrder(
		p.lanes.filter((l) => !wishes.pinned.includes(l.id)),
		laneKey,
		wishes.order,
	);
	// in a process that was unfolded although it is idle, all are shown
	const idle = sleeps(p, isIdle) ? [] : shown.filter(isIdle);
	return { busy: shown.filter((l) => !idle.includes(l)), idle };
}

/** Lays out the lanes in drawing order. */
export function place(given: readonly Lane[], wishes: Wishes = NO_WISHES): { places: Place[]; height: number; pinnedHeight: number } {
	const { folded, unfolded, pinned, order } = wishes;
	const processes = processesOf(given);
	const isIdle = idleOf(given);
	const places: Place[] = [];
	let y = 0;
	const put = (p: Place) => {
		places.push({ ...p, y });
		y += highOf(p);
	};
	const lane = (l: Lane, title: string, alone: boolean, indent: number, process: Process | null) => put({ kind: 'lane', key: process ? process.key : laneKey(l), lane: l, title, alone, indent, y: 0, movable: true, opens: (process?.children.length ?? 0) > 0, open: !folded.has(process?.key ?? '') });
	/** Adds the line for folded lanes. Returns whether it is unfolded. */
	const idle = (key: string, lanes: Lane[], indent: number): boolean => {
		const open = unfolded.has(key);
		if (lanes.length) put({ kind: 'idle', key, lanes, open, title: `${count(lanes.length)} idle ${lanes.length === 1 ? 'thread' : 'threads'}`, indent, y: 0 });
		return lanes.length > 0 && open;
	};

	const ids = new Map(given.map((l) => [l.id, l]));
	const titles = new Map(processes.map((p) => [keyOf(p.lanes[0]!), p.title]));
	for (const id of pinned) {
		const l = ids.get(id);
		if (!l) continue;
		put({ kind: 'lane', key: laneKey(l), lane: l, title: l.tid === l.pid ? titles.get(keyOf(l))! : `${l.comm}  ${l.tid}`, alone: true, indent: 0, y: 0, pinned: true, movable: false, opens: false, open: true });
	}
	const pinnedHeight = y;

	const sorted = (list: Process[]) => inOrder(list, processKey, order);
	const isPinned = (l: Lane) => pinned.includes(l.id);
	const lanesOf = (p: Process): Lane[] => [...p.lanes, ...p.children.flatMap(lanesOf)];
	/** Lays out sibling processes, followed by the idle ones in one line. */
	const walkAll = (list: Process[], depth: number, key: string) => {
		const asleep = list.filter((p) => sleeps(p, isIdle));
		for (const p of sorted(list)) if (!asleep.includes(p)) walk(p, depth);
		if (idle(key, asleep.flatMap(lanesOf), INDENT * Math.min(depth, DEEPEST))) for (const p of asleep) walk(p, depth + 1);
	};
	const walk = (p: Process, depth: number) => {
		const indent = INDENT * Math.min(depth, DEEPEST);
		const open = !folded.has(p.key);
		const [first, ...more] = p.lanes;
		if (more.length === 0) {
			if (!isPinned(first!)) lane(first!, p.title, true, indent, p);
		} else {
			put({ kind: 'group', key: p.key, title: p.title, indent, open, lanes: p.lanes, y: 0, movable: true });
			if (open) {
				const threads = threadsOf(p, wishes, isIdle);
				const title = (l: Lane) => `${l.comm}  ${l.tid}`;
				for (const l of threads.busy) lane(l, title(l), false, indent + INDENT, null);
				if (idle(`i${p.key}`, threads.idle, indent + INDENT)) for (const l of threads.idle) lane(l, title(l), false, indent + 2 * INDENT, null);
			}
		}
		if (open) walkAll(p.children, depth + 1, `c${p.key}`);
	};
	walkAll(
		processes.filter((p) => p.parent === null),
		0,
		'idle',
	);
	return { places, height: y, pinnedHeight };
}

/** What must be unfolded to show a lane; empty if it is visible. */
export function hiding(given: readonly Lane[], wishes: Wishes, id: number): { unfold: string[]; open: string[] } {
	const processes = processesOf(given);
	const own = processes.find((p) => p.lanes.some((l) => l.id === id));
	const lane = own?.lanes.find((l) => l.id === id);
	if (!own || !lane || place(given, wishes).places.some((p) => p.kind === 'lane' && p.lane.id === id)) return { unfold: [], open: [] };
	const unfold: string[] = [];
	const open = [`i${own.key}`];
	for (let p: Process | null = own; p; p = p.parent) {
		unfold.push(p.key);
		open.push(p.parent ? `c${p.parent.key}` : 'idle');
	}
	return { unfold, open: idleOf(given)(lane) ? open : [] };
}

/** The keys of a process or thread and its siblings, in order; none if it is absent. */
function besideOf(given: readonly Lane[], wishes: Wishes, key: string): string[] {
	const processes = processesOf(given);
	const isIdle = idleOf(given);
	const own = processes.find((p) => p.key === key);
	if (own)
		return inOrder(
			processes.filter((p) => p.parent === own.parent),
			processKey,
			wishes.order,
		).map(processKey);
	for (const p of processes) {
		const { busy, idle } = threadsOf(p, wishes, isIdle);
		for (const list of [busy, idle]) if (list.some((l) => laneKey(l) === key)) return list.map(laneKey);
	}
	return [];
}

/**
 * The order after moving a process or a thread: by a number of places among its siblings, or to the place of the first of `to`
 * that is a sibling; to the front if none is.
 */
export function moved(given: readonly Lane[], wishes: Wishes, key: string, to: number | readonly string[]): string[] {
	const beside = besideOf(given, wishes, key);
	const at = beside.indexOf(key);
	if (at < 0) return [...wishes.order];
	const target = typeof to === 'number' ? at + to : (to.map((k) => beside.indexOf(k)).find((i) => i >= 0) ?? 0);
	beside.splice(at, 1);
	beside.splice(Math.max(0, Math.min(beside.length, target)), 0, key);
	return [...wishes.order.filter((k) => !beside.includes(k)), ...beside];
}
