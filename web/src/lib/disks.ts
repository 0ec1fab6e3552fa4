// SPDX-License-Identifier: Apache-2.0
// The answer of `weir disks --json`, and its conversion for charts.

import type { Loss } from './api';
import type { Lines } from './result';

export interface Disk {
	disk: string;
	requests: number;
	read: number;
	written: number;
	flushes: number;
	merges: number;
	errors: number;
	/** ns, the sum over its requests. */
	time: number;
	/** Requests in flight, on average. */
	load: number;
	/** The share of the time in which the device had a request. */
	busy: number;
	/** ns, from queued to completed. */
	read_p50: number | null;
	read_p99: number | null;
	write_p50: number | null;
	write_p99: number | null;
	/** The share of requests with data that began where the previous one ended. */
	sequential: number | null;
}

export interface DiskOwner {
	disk: string;
	process: string | null;
	pid: number | null;
	via: string | null;
	file: string | null;
	file_id: number | null;
	origin: string | null;
	requests: number;
	read: number;
	written: number;
}

interface Rows<T> {
	rows: T[];
}

export interface Disks extends Rows<Disk> {
	loss: Loss;
	tables: {
		depth: Rows<{ disk: string; at: number; depth: number }>;
		latency: Rows<{ disk: string; window: number; bucket: number; requests: number }>;
		owners: Rows<DiskOwner>;
	};
}

/** The time windows of depth and latency, which are the same for all disks. */
export function windowsOf(d: Disks): { from: number; step: number; to: number } | null {
	const [a, b] = d.tables.depth.rows;
	if (!a) return null;
	const step = b && b.disk === a.disk ? b.at - a.at : 1;
	const last = d.tables.depth.rows.filter((r) => r.disk === a.disk).at(-1)!;
	return { from: a.at, step, to: last.at + step };
}

export function depthLines(d: Disks, disks: string[]): Lines {
	const x = d.tables.depth.rows.filter((r) => r.disk === disks[0]).map((r) => r.at / 1e9);
	const series = disks.map((name) => ({ name, unit: '', y: d.tables.depth.rows.filter((r) => r.disk === name).map((r) => r.depth) }));
	return { x, series, of: series.length };
}

/** Triples for the heat map. */
export function latencyCells(d: Disks, disk: string): number[] {
	return d.tables.latency.rows.filter((r) => r.disk === disk).flatMap((r) => [r.window, r.bucket, r.requests]);
}
