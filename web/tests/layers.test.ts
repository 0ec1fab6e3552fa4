// SPDX-License-Identifier: Apache-2.0
import { expect, test } from 'vitest';
import { depthLines, latencyCells, windowsOf, type Disks } from '../src/lib/disks';
import { layerBands, layersOf, requestBars } from '../src/lib/layers';
import { nsOf, windowFor } from '../src/lib/window';

test('layers of a call add up to its duration', () => {
	const call = { dur: 100, cpu_time: 10, runq: 5, sleep: 15, io_wait: 70, io_device: 40, io_queued: 20 };
	const layers = layersOf(call)!;
	expect(layers.reduce((sum, l) => sum + l.ns, 0)).toBe(100);
	expect(layers.find((l) => l.name === 'waiting for I/O')!.ns).toBe(10);
	expect(layersOf({ dur: 100, cpu_time: null })).toBeNull();
});

test('requests of a call lie within it', () => {
	const request = { disk: 'sda', kind: 'read', bytes: 4096, op_start: 1000 };
	const bars = requestBars(
		[
			{ ...request, start: 1100, issued: 1200, dur: 400 },
			{ ...request, start: 1050, issued: null, dur: null },
			{ ...request, start: 1150, issued: 1160, dur: 50, op_start: 7 },
		],
		1000,
		1000,
	);
	expect(bars.length).toBe(2);
	expect(bars[0]!.at).toBeCloseTo(0.05);
	expect(bars[0]!.deviceShare).toBeCloseTo(0.95);
	expect(bars[1]).toMatchObject({ at: 0.1, queued: 100, device: 300 });
	expect(bars[1]!.queuedShare).toBeCloseTo(0.1);
});

test('bands by window', () => {
	const row = { cpu_time: 1, sleep: 2, io_wait: 5, runq: null, io_device: null, io_queued: null };
	const bands = layerBands([{ ...row, window: 20 }, { ...row, window: 40 }], 20, 10, 3)!;
	expect(bands.map((b) => b.reduce((s, v) => s + v, 0))).toEqual([2, 0, 0, 0, 10, 4]);
	expect(bands[0]).toEqual([1, 0, 1]);
	expect(nsOf(windowFor(1e9))).toBe(5e6);
});

test('windows of disks', () => {
	const depth = ['a', 'b'].flatMap((disk) => [0, 10, 20].map((at) => ({ disk, at, depth: at / 10 })));
	const d = { rows: [], tables: { depth: { rows: depth }, latency: { rows: [{ disk: 'b', window: 1, bucket: 7, requests: 3 }] }, owners: { rows: [] } } } as unknown as Disks;
	expect(windowsOf(d)).toEqual({ from: 0, step: 10, to: 30 });
	expect(depthLines(d, ['b']).series[0]!.y).toEqual([0, 1, 2]);
	expect(latencyCells(d, 'b')).toEqual([1, 7, 3]);
	expect(latencyCells(d, 'a')).toEqual([]);
});
