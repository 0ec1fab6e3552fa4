// SPDX-License-Identifier: Apache-2.0
// A path is one line of its folder: files that had it one after another, and a folder with the calls that named the folder itself.

import type { FileNode } from './api';
import { MARK, type Group } from './sockets';

const SUMS = ['calls', 'errors', 'bytes', 'time'] as const;

/** Without "/" and "/." behind it, with which a folder may be asked for; "" is the root. */
const trimmed = (path: string) => path.replace(/(\/\.?)+$/, '');

function add(to: FileNode, node: FileNode): void {
	for (const what of SUMS) to[what] += node[what];
}

/** Files of one path as one line that opens. */
function together(path: string, files: FileNode[]): FileNode {
	if (files.length === 1) return files[0]!;
	const group: Group = { name: files[0]!.name, path: MARK + path, dir: true, id: null, calls: 0, errors: 0, bytes: 0, time: 0, members: files };
	for (const file of files) add(group, file);
	return group;
}

/**
 * What lies in `folder`, each path once. The sums of a folder in it are with those of the calls that named it, which are apart in `self`, by
 * the folder's path: the first lines where it is open.
 */
export function onePerPath(folder: string, entries: FileNode[]): { nodes: FileNode[]; self: Map<string, FileNode[]> } {
	const folders = new Map<string, FileNode>();
	const files = new Map<string, FileNode[]>();
	const nodes: FileNode[] = [];
	const here = folder.startsWith('/') ? trimmed(folder) : null;
	for (const node of entries) {
		if (node.dir) {
			const copy = { ...node };
			if (node.path.startsWith('/')) folders.set(trimmed(node.path), copy);
			nodes.push(copy);
		} else if (!node.path.startsWith('/')) nodes.push(node);
		else {
			const path = trimmed(node.path);
			const file = path === here ? { ...node, name: '.' } : node;
			files.set(path, [...(files.get(path) ?? []), file]);
		}
	}
	const self = new Map<string, FileNode[]>();
	for (const [path, all] of files) {
		const dir = folders.get(path);
		if (!dir) nodes.push(together(path, all));
		else {
			for (const file of all) add(dir, file);
			self.set(dir.path, [together(`${path}/.`, all.map((file) => ({ ...file, name: '.' })))]);
		}
	}
	return { nodes, self };
}
