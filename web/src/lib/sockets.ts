// SPDX-License-Identifier: Apache-2.0
// Sockets that share an address are one line, as in the report: a server's hundred connections are told together.

import type { FileNode } from './api';
import { quote } from './state.svelte';

/** A line that stands for several files. */
export interface Group extends FileNode {
	members: FileNode[];
}

const LEAST = 3; // the two ends of one connection are no group
/** Before the path of a group: no file has it, and the server is not asked for it. */
export const MARK = '\0';

/** What the members of a group are to who reads it. */
export const kindOf = (group: Group) => (group.path.startsWith(`${MARK}/`) ? 'files' : group.members.some((m) => m.name.includes('->')) ? 'connections' : 'alike');

export const isGroup = (node: FileNode): node is Group => node.path.startsWith(MARK);

/** The addresses of a socket, with its protocol: "tcp 127.0.0.1:80->127.0.0.1:4000"; a name that is none is its own. */
function endsOf(name: string): string[] {
	const pair = /^(\S+) (\S+)->(\S+)$/.exec(name);
	return pair ? [`${pair[1]} ${pair[2]}`, `${pair[1]} ${pair[3]}`] : [name];
}

/** What a row of a table of files needs to be put together with others. */
interface Ranked {
	id: unknown;
	name: unknown;
	time: unknown;
}

/** Are there sockets among the rows that are told together? */
export const sharesSockets = (rows: Ranked[]): boolean => groupSockets(rows.map(asNode)).some(isGroup);

const asNode = (r: Ranked): FileNode => ({ name: /^(tcp|udp|unix)\b/.test(String(r.name)) ? String(r.name) : '', path: '', dir: false, id: Number(r.id), calls: 0, errors: 0, bytes: 0, time: 0 });

/**
 * The `rows.length` rows of most time, of these and those `besides`, with the sockets that share an address as one, given all sockets; and how
 * many files are not among them.
 */
export function rankSockets<R extends Ranked>(rows: R[], besides: R[], others: number, sockets: FileNode[]): { rows: (R | Group)[]; others: number } {
	const groups = groupSockets(sockets).filter(isGroup);
	const within = new Set(groups.flatMap((g) => g.members.map((m) => m.id)));
	const ranked = [...groups, ...[...rows, ...besides].filter((r) => !within.has(Number(r.id)))].sort((a, b) => Number(b.time) - Number(a.time)).slice(0, rows.length);
	const told = ranked.reduce((n, r) => n + ('members' in r ? (r as Group).members.length : 1), 0);
	return { rows: ranked as (R | Group)[], others: rows.length + others - told };
}

/** The filter for the sockets of an address, or for those of one name. */
export function filterOfAddress(name: string): string {
	const pair = /^((?:tcp|udp)\S*) (\S+)$/.exec(name);
	const any = (text: string) => text.replace(/[[\]*?\\"]/g, '?'); // what a pattern would read as something else
	return pair ? `(file == ${quote(name)} || file ~ "${any(name)}->*" || file ~ "${any(pair[1]!)} *->${any(pair[2]!)}")` : `file == ${quote(name)}`;
}

/** Of a connection among those of an address: who is at its other end, and in which direction. */
export function otherEnd(name: string, address: string): string {
	const at = address.replace(/^\S+ /, '');
	if (name.startsWith(`${address}->`)) return `-> ${name.slice(address.length + 2)}`;
	return name.endsWith(`->${at}`) ? `${name.slice(address.length - at.length, -at.length - 2)} ->` : name;
}

/** Files of one folder, those that share an address (or their whole name) put together under the one that most share. */
export function groupSockets(nodes: FileNode[]): FileNode[] {
	const shared = new Map<string, number>();
	const ends = nodes.map((n) => (n.dir || n.name === '' ? [] : [...new Set(endsOf(n.name))]));
	for (const of of ends) for (const end of of) shared.set(end, (shared.get(end) ?? 0) + 1);
	const groups = new Map<string, Group>();
	const result: FileNode[] = [];
	nodes.forEach((node, i) => {
		const end = ends[i]!.reduce<string | null>((best, e) => (best === null || shared.get(e)! > shared.get(best)! ? e : best), null);
		if (end === null || shared.get(end)! < LEAST) return void result.push(node);
		let group = groups.get(end);
		if (!group) {
			group = { name: end, path: MARK + end, dir: true, id: null, calls: 0, errors: 0, bytes: 0, time: 0, members: [] };
			groups.set(end, group);
			result.push(group);
		}
		group.members.push(node);
		for (const what of ['calls', 'errors', 'bytes', 'time'] as const) group[what] += node[what];
	});
	// where each address was shared but most went to another, one may be left alone
	return result.map((n) => (isGroup(n) && n.members.length === 1 ? n.members[0]! : n));
}
