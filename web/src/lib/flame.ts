// SPDX-License-Identifier: Apache-2.0
// Stacks as a tree, and its visible boxes: each is as wide as its share.

import type { StackRow } from './api';

export const weights = ['time', 'bytes', 'calls', 'errors'] as const;
export type Weight = (typeof weights)[number];

export interface FlameNode {
	name: string;
	/** Names from the root, which has none, to this node. */
	path: string[];
	kernel: boolean;
	sum: number;
	/** Calls that this function made itself. */
	own: number;
	children: FlameNode[];
	parent: FlameNode | null;
}

export interface Box {
	node: FlameNode;
	depth: number;
	/** As parts of the width. */
	from: number;
	width: number;
}

function child(of: FlameNode, name: string, kernel: boolean, known: Map<FlameNode, Map<string, FlameNode>>): FlameNode {
	let mine = known.get(of);
	if (!mine) known.set(of, (mine = new Map()));
	const key = (kernel ? 'k ' : 'u ') + name;
	let node = mine.get(key);
	if (!node) {
		node = { name, path: [...of.path, name], kernel, sum: 0, own: 0, children: [], parent: of };
		mine.set(key, node);
		of.children.push(node);
	}
	return node;
}

/** The tree of all stacks; children sorted by sum. */
export function flameTree(rows: StackRow[], weight: Weight): FlameNode {
	const root: FlameNode = { name: 'all', path: [], kernel: false, sum: 0, own: 0, children: [], parent: null };
	const known = new Map<FlameNode, Map<string, FlameNode>>();
	for (const row of rows) {
		const sum = row[weight];
		if (!(sum > 0)) continue;
		let at = root;
		at.sum += sum;
		for (const name of row.stack ? row.stack.split(';') : ['[no name]']) {
			at = child(at, name, false, known);
			at.sum += sum;
		}
		for (const name of row.kernel ? row.kernel.split(';') : []) {
			at = child(at, name, true, known);
			at.sum += sum;
		}
		at.own += sum;
	}
	const sort = (n: FlameNode) => {
		n.children.sort((a, b) => b.sum - a.sum || (a.name < b.name ? -1 : 1));
		n.children.forEach(sort);
	};
	sort(root);
	return root;
}

/** The node of a path of names; the deepest that exists. */
export function flameFind(root: FlameNode, path: string[]): FlameNode {
	let at = root;
	for (const name of path) {
		const next = at.children.find((c) => c.name === name);
		if (!next) break;
		at = next;
	}
	return at;
}

/** The boxes when a node fills the width: its ancestors at full width, its descendants if at least `least` of the width. */
export function flameBoxes(focus: FlameNode, least: number): Box[] {
	const boxes: Box[] = [];
	for (let n: FlameNode | null = focus.parent; n; n = n.parent) boxes.unshift({ node: n, depth: n.path.length, from: 0, width: 1 });
	const add = (node: FlameNode, from: number, width: number) => {
		boxes.push({ node, depth: node.path.length, from, width });
		let at = from;
		for (const c of node.children) {
			const wide = (width * c.sum) / node.sum;
			if (wide >= least) add(c, at, wide);
			at += wide;
		}
	};
	add(focus, 0, 1);
	return boxes;
}

/** The sum of the node's stacks that contain a function whose name has the text: each call counts once. */
export function flameMatched(node: FlameNode, text: string): number {
	const low = text.toLowerCase();
	const within = (n: FlameNode): number => (n.name.toLowerCase().includes(low) ? n.sum : n.children.reduce((sum, c) => sum + within(c), 0));
	return low ? within(node) : 0;
}
