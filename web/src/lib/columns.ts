// SPDX-License-Identifier: Apache-2.0
// The compact form of large tables (application/vnd.weir.columns in docs/openapi.yaml).

import type { Loss } from './api';

interface ColumnHead {
	name: string;
	type: string;
	unit: string;
	encoding: 'f64' | 'u32' | 'json';
	offset: number;
	length: number;
	words?: string[];
}

/** The range of a picture of cells, in ns and bytes; `read`: the share of the trace that it covers so far. */
export interface Extent {
	from: number;
	to: number;
	pos_from: number;
	pos_to: number;
	height: number;
	read: number;
}

export interface Columns {
	/** Only for /file/{id}/density. */
	extent?: Extent;
	origin: string;
	rows: number;
	loss: Loss;
	heads: ColumnHead[];
	/** Numbers of a column; NaN for null. */
	numbers(name: string): Float64Array;
	/** Indices into words(name); NO_WORD for null. */
	codes(name: string): Uint32Array;
	words(name: string): string[];
}

export const NO_WORD = 0xffffffff;
const MAGIC = 'weircol1';

export function decodeColumns(data: ArrayBuffer): Columns {
	const text = new TextDecoder();
	if (data.byteLength < 12 || text.decode(new Uint8Array(data, 0, 8)) !== MAGIC) throw new Error('the response is not a table of columns');
	const length = new DataView(data).getUint32(8, true);
	if (12 + length > data.byteLength) throw new Error('the response is truncated');
	const head = JSON.parse(text.decode(new Uint8Array(data, 12, length))) as Extent & { origin: string; rows: number; loss: Loss; columns: ColumnHead[] };
	const base = Math.ceil((12 + length) / 8) * 8;
	const find = (name: string, encoding: string) => {
		const column = head.columns.find((c) => c.name === name);
		if (!column || column.encoding !== encoding) throw new Error(`the response has no column ${name} encoded as ${encoding}`);
		if (base + column.offset + column.length > data.byteLength) throw new Error('the response is truncated');
		return column;
	};
	return {
		origin: head.origin,
		extent: head,
		rows: head.rows,
		loss: head.loss,
		heads: head.columns,
		numbers: (name) => new Float64Array(data, base + find(name, 'f64').offset, head.rows),
		codes: (name) => new Uint32Array(data, base + find(name, 'u32').offset, head.rows),
		words: (name) => find(name, 'u32').words ?? [],
	};
}
