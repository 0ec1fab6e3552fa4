// SPDX-License-Identifier: Apache-2.0
// Files that the page itself generates.

import type { Table } from './api';

export function saveFile(name: string, type: string, text: string) {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(new Blob([text], { type }));
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** RFC 4180; null is nothing, an empty text is "". */
export function csvOf(table: Table): string {
	const cell = (v: unknown): string => {
		if (v === null || v === undefined) return '';
		const text = typeof v === 'object' ? JSON.stringify(v) : String(v);
		return text === '' || /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
	};
	const lines = [table.columns.map((c) => cell(c.name)), ...table.rows.map((r) => table.columns.map((c) => cell(r[c.name])))];
	return lines.map((l) => l.join(',') + '\n').join('');
}
