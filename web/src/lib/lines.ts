// SPDX-License-Identifier: Apache-2.0
// Lines that stand for several files, as the server groups them and marks them by their names.

import type { FileNode } from './api';
import { count } from './format';
import { quote } from './state.svelte';

/** Prefix of the path of such a line: no file has it, and the server is never asked for it. */
export const MARK = '\0';

export interface Line {
	name: string;
	files?: number;
	kind?: string;
}

/** "tcp 10.0.0.1:80 (50 connections)" */
export const titleOf = (line: Line): string => (line.files === undefined ? line.name : `${line.name} (${many(line)})`);
export const many = (line: Line): string => `${count(line.files ?? 1)} ${line.kind}`;

/** The entries of a folder; a line of several files opens like a folder. */
export const opening = (nodes: FileNode[]): FileNode[] => nodes.map((n) => (n.members ? { ...n, path: MARK + n.line, dir: true } : n));

/** The address of a line of sockets, and whether it is their own or their peers'. */
function addressOf(name: string): { text: string; own: boolean } | null {
	const is = /^(clients,|to) (.*)$/.exec(name);
	return is ? { text: is[2]!, own: is[1] !== 'to' } : null;
}

/** The filter for the files of a line. */
export function filterOf(line: Line): string {
	const address = line.kind === 'connections' ? addressOf(line.name) : null;
	if (!address) return `file == ${quote(line.name)}`;
	if (address.text.startsWith('unix:')) return `file == ${quote(address.text)}`;
	const any = address.text.replace(/[[\]*?\\"]/g, '?'); // replaces what a pattern would interpret
	return address.own ? `(file ~ "??? ${any}" || file ~ "??? ${any}->*")` : `file ~ "??? *->${any}"`;
}

/** The other end of a line's connection, and the direction. */
export function otherEnd(name: string, line: string): string {
	const ends = /^\S+ (\S+)->(\S+)$/.exec(name);
	const address = addressOf(line);
	if (!ends || !address) return name;
	return address.own ? `-> ${ends[2]}` : `${ends[1]} ->`;
}
