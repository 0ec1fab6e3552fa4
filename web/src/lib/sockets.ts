// SPDX-License-Identifier: Apache-2.0
// Sockets that share an address are one line, as in the report: a server's hundred connections are told together.

import type { FileNode } from './api';

/** A line that stands for several files. */
export interface Group extends FileNode {
	members: FileNode[];
}

const LEAST = 3; // the two ends of one connection are no group
/** Before the path of a group: no file has it, and the server is not asked for it. */
export const MARK = '\0';

export const isGroup = (node: FileNode): node is Group => node.path.startsWith(MARK);

/** The addresses of a socket, with its protocol: "tcp 127.0.0.1:80->127.0.0.1:4000"; a name that is none is its own. */
function endsOf(name: string): string[] {
	const pair = /^(\S+) (\S+)->(\S+)$/.exec(name);
	return pair ? [`${pair[1]} ${pair[2]}`, `${pair[1]} ${pair[3]}`] : [name];
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
