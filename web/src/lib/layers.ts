// SPDX-License-Identifier: Apache-2.0
// The layers of a call's time (record --phases), and its requests to disks.

export interface Layer {
	name: string;
	colour: string;
	ns: number;
}

/** By name: the column, and its colour. Together they are the call's duration. */
export const LAYERS: [name: string, colour: string][] = [
	['on a CPU', 'process'],
	['waiting for a CPU', 'meta'],
	['in a device', 'read'],
	['queued for a device', 'write'],
	['waiting for I/O', 'sync'],
	['asleep', 'other'],
];

/** The time of each layer, in the order of LAYERS; null if not recorded, or recorded only in part. */
export function layerTimes(of: Record<string, unknown>): number[] | null {
	const known = (name: string) => (typeof of[name] === 'number' ? (of[name] as number) : null);
	const [cpu, io, sleep] = [known('cpu_time'), known('io_wait'), known('sleep')];
	if (cpu === null || io === null || sleep === null) return null;
	const [device, queued] = [known('io_device') ?? 0, known('io_queued') ?? 0];
	return [cpu, known('runq') ?? 0, device, queued, Math.max(0, io - device - queued), sleep];
}

export function layersOf(call: Record<string, unknown>): Layer[] | null {
	const times = layerTimes(call);
	if (!times || !(Number(call.dur) > 0)) return null;
	return LAYERS.map(([name, colour], i) => ({ name, colour, ns: times[i]! })).filter((l) => l.ns > 0);
}

export interface Request {
	start: number;
	dur: number | null;
	issued: number | null;
	disk: string;
	kind: string;
	bytes: number;
	op_start: number | null;
}

export interface RequestBar {
	disk: string;
	kind: string;
	bytes: number;
	queued: number;
	device: number;
	/** Shares of the call's duration; the part beyond its end is cut. */
	at: number;
	queuedShare: number;
	deviceShare: number;
}

/** The requests of a call, in order of time. */
export function requestBars(requests: Request[], start: number, dur: number): RequestBar[] {
	const share = (ns: number) => Math.min(1, Math.max(0, ns / dur));
	return requests
		.filter((r) => r.op_start === start)
		.sort((a, b) => a.start - b.start)
		.map((r) => {
			const stop = r.dur === null ? start + dur : r.start + r.dur;
			const issued = r.issued ?? r.start;
			const [at, mid, end] = [share(r.start - start), share(issued - start), share(stop - start)];
			return { disk: r.disk, kind: r.kind, bytes: r.bytes, queued: issued - r.start, device: stop - issued, at, queuedShare: Math.max(0, mid - at), deviceShare: Math.max(0, end - Math.max(mid, at)) };
		});
}

/** Sums by window, for a stacked chart: per layer a value for each of `count` windows of `step` ns. */
export function layerBands(rows: Record<string, unknown>[], from: number, step: number, count: number): number[][] | null {
	const bands = LAYERS.map(() => new Array<number>(count).fill(0));
	let any = false;
	for (const row of rows) {
		const times = layerTimes(row);
		const at = Math.floor((Number(row.window) - from) / step);
		if (!times || at < 0 || at >= count) continue;
		any = true;
		times.forEach((ns, i) => (bands[i]![at]! += ns));
	}
	return any ? bands : null;
}
