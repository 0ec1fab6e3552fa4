// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { CALLS, drawLoss, timeLabel, timeTicks, timeWithin, type Of } from '../src/charts/TimeAxis';
import { decodeColumns } from '../src/lib/columns';
import { csvOf } from '../src/lib/files';
import { clock, compact, count, day, duration, plain, relative, size, statusWords, tick, value } from '../src/lib/format';
import { chartsFor, linesOf, nameOf, shapeOf } from '../src/lib/result';
import { binaryTicks, fitRange, histBucket, histLower, histWidth, linear, linearTicks, logarithmic, percentileOf, percentilesOf, SHORTEST } from '../src/lib/scales';
import { everyOf, fillWindow, windowFor } from '../src/lib/window';
import { bothOf, formatView, hostedFilter, parseView, quote } from '../src/lib/state.svelte';

describe('scales', () => {
	it('go there and back', () => {
		const s = linear(1000, 3000, 50, 250);
		expect(s.at(2000)).toBe(150);
		expect(s.back(150)).toBe(2000);
		const l = logarithmic(1, 1e9, 0, 900);
		expect(l.at(1e3)).toBeCloseTo(300);
		expect(l.back(300)).toBeCloseTo(1e3);
	});
	it('have round ticks', () => {
		expect(linearTicks(0, 10, 5)).toEqual([0, 2, 4, 6, 8, 10]);
		expect(linearTicks(3, 3, 5)).toEqual([]);
		expect(logarithmic(100, 1e6, 0, 1).ticks(5)).toEqual([1e2, 1e3, 1e4, 1e5, 1e6]);
	});
	it('know the buckets of the histogram', () => {
		for (const v of [0, 1, 15, 16, 17, 31, 32, 33, 1000, 65535, 65536, 1e6, 123456789, 2 ** 40 - 1, 2 ** 40]) {
			const b = histBucket(v);
			expect(histLower(b)).toBeLessThanOrEqual(v);
			expect(histLower(b) + histWidth(b)).toBeGreaterThan(v);
		}
		expect(histBucket(histLower(300))).toBe(300);
	});
});

describe('ticks', () => {
	it('are round, inside, and about as many as asked for', () => {
		for (const [from, to] of [
			[0, 1],
			[-7, 13],
			[1e9, 1.0000003e9],
			[0, 3.6e12],
			[0.001, 0.0042],
		] as const)
			for (const about of [2, 5, 12]) {
				const ticks = linearTicks(from, to, about);
				expect(ticks.length).toBeGreaterThan(0);
				expect(ticks.length).toBeLessThanOrEqual(about + 1);
				for (const t of ticks) {
					expect(t).toBeGreaterThanOrEqual(from);
					expect(t).toBeLessThanOrEqual(to);
				}
			}
	});
	it('of bytes are powers of two', () => {
		expect(binaryTicks(0, 60 * 2 ** 20, 5)).toEqual([0, 16, 32, 48].map((n) => n * 2 ** 20));
		expect(binaryTicks(5, 5, 5)).toEqual([]);
		expect(binaryTicks(0, 3, 9)).toEqual([0, 1, 2, 3]);
	});
	it('of time can be told apart at every width', () => {
		for (const span of [20, 500, 1e4, 1e6, 1e8, 1e9, 1e11, 1e13]) {
			const ticks = linear(7.3e9, 7.3e9 + span, 0, 1).ticks(8);
			const labels = ticks.map((t) => timeLabel(t, ticks[0]!, span));
			expect(new Set(labels).size).toBe(labels.length);
		}
	});
});

describe('a long time axis', () => {
	const labels = (from: number, to: number, width: number) => timeTicks(linear(from * 1e9, to * 1e9, 0, width), 0, width).map((t, _, all) => timeLabel(t, all[0]!, (to - from) * 1e9));
	it('counts in seconds, minutes and hours as people do', () => {
		expect(labels(0, 100, 500)).toEqual(['0 s', '20 s', '40 s', '60 s', '80 s', '100 s']);
		expect(labels(0, 600, 500)).toEqual(['0 min', '2 min', '4 min', '6 min', '8 min', '10 min']);
		expect(labels(100, 280, 600)).toEqual(['2 min', '2:30 min', '3 min', '3:30 min', '4 min', '4:30 min']);
		expect(labels(0, 4 * 3600, 500)).toEqual(['0:00 h', '1:00 h', '2:00 h', '3:00 h', '4:00 h']);
		expect(labels(3 * 86400, 9 * 86400, 300)).toEqual(['96:00 h', '144:00 h', '192:00 h']);
	});
	it('tells any two of its ticks apart', () => {
		for (const span of [121, 200, 900, 5000, 7300, 20000, 90000, 1e6, 1e7]) {
			const all = labels(7, 7 + span, 900);
			expect(new Set(all).size).toBe(all.length);
			expect(all.length).toBeGreaterThan(2);
			expect(all.length).toBeLessThan(12);
		}
	});
	it('counts the first second in ms', () => {
		expect(labels(0, 0.005, 500)).toEqual(['0 ms', '1 ms', '2 ms', '3 ms', '4 ms', '5 ms']);
		expect(labels(0.9, 1.4, 500)).toEqual(['0.9 s', '1 s', '1.1 s', '1.2 s', '1.3 s', '1.4 s']);
		expect(labels(0.0102, 0.0104, 300)).toEqual(['10.2 ms', '10.3 ms', '10.4 ms']);
	});
	it('names a point between them', () => {
		expect(timeWithin(1.5e6, 4e6)).toBe('1.500 ms');
		expect(timeWithin(3723.4e9, 7300e9)).toBe('1:02:03 h');
		expect(timeWithin(7383.6e9, 7300e9)).toBe('2:03:04 h');
		expect(timeWithin(59.97e9, 200e9)).toBe('1:00.0 min');
		expect(timeWithin(-3.2e9, 200e9)).toBe('-0:03.2 min');
		expect(timeWithin(1.5e9, 1e9)).toBe('1.5000 s');
	});
});

describe('marks of losses', () => {
	it('are drawn where rows of the shown table are missing', () => {
		const w = (cause: string, table: string | null) => ({ from: 10, to: 20, cause, table, events: 1 });
		const drawn = (of: Of, ...windows: ReturnType<typeof w>[]) => {
			let n = 0;
			const c = { fillRect: () => n++ } as unknown as CanvasRenderingContext2D;
			drawLoss(c, windows, of, linear(0, 100, 0, 100), 0, 100, 0, 10);
			return n / 2;
		};
		expect(drawn(CALLS, w('ring_full', 'op'), w('side_unseen', 'sched'), w('side_full', null), w('stack', 'op'), w('stopped', 'op'))).toBe(1);
		expect(drawn(['block'], w('ring_full', 'op'), w('side_full', 'block'), w('side_full', null))).toBe(2);
		expect(drawn(null, w('ring_full', 'op'), w('side_full', 'block'))).toBe(2);
	});
});

describe('the range on the screen', () => {
	it('is no shorter than can be seen and stays about the trace', () => {
		expect(fitRange(5, 5, 0, 1000)).toEqual([0, 10]);
		expect(fitRange(-9e9, 9e9, 0, 1000)).toEqual([-100, 1100]);
		expect(fitRange(5000, 5100, 0, 1000)).toEqual([1000, 1100]);
		expect(fitRange(200, 300, 0, 1000)).toEqual([200, 300]);
		const [a, b] = fitRange(0, 0, 7, 7);
		expect(b - a).toBeGreaterThanOrEqual(SHORTEST);
	});
	it('keeps what is under the pointer there when it zooms', () => {
		const [from, to, about] = [1000, 9000, 3000];
		const s = linear(from, to, 0, 800);
		const f = 0.25;
		const closer = linear(about - (about - from) * f, about + (to - about) * f, 0, 800);
		expect(closer.at(about)).toBeCloseTo(s.at(about));
	});
});

describe('percentiles', () => {
	it('are the middle of the bucket of their rank', () => {
		expect(percentileOf([], 0.5)).toBe(null);
		expect(percentileOf([[5, 1]], 0.5)).toBe(5);
		expect(percentileOf([[10, 99], [histBucket(1000), 1]], 0.99)).toBe(10);
		expect(percentileOf([[10, 99], [histBucket(1000), 2]], 0.99)).toBe(histLower(histBucket(1000)) + histWidth(histBucket(1000)) / 2);
	});
	it('of columns are null where nothing was', () => {
		expect(percentilesOf([0, 9, 1, 0, 3, 1, 2, 7, 1, 9, 1, 1], 3, [0.5, 1])).toEqual([[3, 9], null, [7, 7]]);
	});
});

describe('figures', () => {
	it('have three digits and a unit', () => {
		// as tests/report/format.c has them
		expect([0, 850, 5249, 9994, 9996, 18400, 999499, 999500, 41e6, 1234567890, 200e9, 1234e9].map(duration)).toEqual([
			'0 ns',
			'850 ns',
			'5.25 us',
			'9.99 us',
			'10.0 us',
			'18.4 us',
			'999 us',
			'1.00 ms',
			'41.0 ms',
			'1.23 s',
			'200 s',
			'1,234 s',
		]);
		expect(['5.00 ms', '1.50 ms', '10.0 us', '100 ms', '1.05 s', '0 ns'].map(tick)).toEqual(['5 ms', '1.5 ms', '10 us', '100 ms', '1.05 s', '0 ns']);
		expect([0, 1023, 1024, 10239, 113246208, 2 ** 20 - 1, 2 ** 64].map(size)).toEqual(['0 B', '1023 B', '1.00 KiB', '10.0 KiB', '108 MiB', '1.00 MiB', '16.0 EiB']);
		expect([0, 12, 1234, 5.55e6].map(compact)).toEqual(['0', '12', '1.23 k', '5.55 M']);
		expect(relative(-5)).toBe('-0.000000 s');
		expect(value(null, 'int')).toBe('–');
	});
});

describe('a number', () => {
	it('is written as the browser would, without its formatter', () => {
		for (const n of [0, -0, 1, 12, 999, 1000, 123456, 1234567, -1, -1234567, 0.5, 0.125, 99.999, 1000.5, -1234.567, 10.1, 1e15, 2 ** 53, 1e21, 1e-9])
			expect(count(n)).toBe((n === 0 ? 0 : n).toLocaleString('en-US', { maximumFractionDigits: 2 }));
		for (let i = 0; i < 2000; i++) {
			const n = Math.floor((((i * 2654435761) % 4294967296) / 4294967296) * 10 ** (i % 16));
			expect(count(n)).toBe(n.toLocaleString('en-US'));
		}
		expect(count(null)).toBe('–');
	});
});

describe('a name', () => {
	it('shows what cannot be seen in it', () => {
		expect(plain('/srv/Ünï "x" \\ 日本')).toBe('/srv/Ünï "x" \\ 日本');
		expect(plain('a\nb\tc\r\u001b[31m\u0000')).toBe('a\\nb\\tc\\r\\u001b[31m\\u0000');
		expect(plain('\u202etxt.exe\u2066\u200b\ufeff')).toBe('\\u202etxt.exe\\u2066\\u200b\\ufeff');
	});
});

describe('a status', () => {
	it('is its words', () => {
		expect([0, 1, 0x500, 0x801].map(statusWords)).toEqual(['0', 'unfinished', 'by_path|slept', 'unfinished|0x800']);
	});
});

describe('a time', () => {
	const origin = '1795340975930189123'; // 22 Nov 2026 09:49:35 in UTC
	it('is that of the server, and says of which zone', () => {
		expect(clock(origin, 0, 0)).toBe('09:49:35.930189 +0000');
		expect(clock(origin, 1e9, 19800)).toBe('15:19:36.930189 +0530');
		expect(`${day(origin, 0, -12600)} ${clock(origin, 0, -12600)}`).toBe('22 Nov 2026 06:19:35.930189 -0330');
		expect(day(origin, 0, 15 * 3600)).toBe('23 Nov 2026');
		expect(clock('-1', 0, 0)).toBe('23:59:59.999999 +0000');
	});
});

describe('an answer', () => {
	const table = (columns: [string, string, 'key'?][], rows: unknown[][]) => ({
		origin: '0',
		columns: columns.map(([name, type, key]) => ({ name, type, unit: '', ...(key ? { key: true as const } : {}) })),
		rows: rows.map((r) => Object.fromEntries(columns.map(([name], i) => [name, r[i]]))),
		loss: { events: 0, causes: {} },
	});
	const charts = (columns: [string, string, 'key'?][], rows: unknown[][] = [], sql = false) => chartsFor(table(columns, rows), sql);
	it('knows what it can be drawn as', () => {
		expect(charts([['window', 'time', 'key'], ['n', 'int']])).toEqual(['lines', 'table']);
		expect(charts([['window', 'time', 'key'], ['h', 'hist']])).toEqual(['heat', 'table']);
		expect(charts([['op', 'text', 'key'], ['n', 'int'], ['h', 'hist']])).toEqual(['hist', 'bars', 'table']);
		expect(charts([['path', 'text', 'key']])).toEqual(['table']);
		expect(charts([['h', 'hist']])).toEqual(['hist', 'table']);
		expect(charts([['n', 'int'], ['m', 'int']])).toEqual(['table']);
	});
	it('is a table where rows were not grouped, as weir query gives it', () => {
		expect(charts([['op', 'text'], ['dur', 'int']], [['read', 5], ['read', 7]])).toEqual(['table', 'bars']);
		expect(charts([['start', 'time'], ['dur', 'int']], [[0, 5], [1, 7]])).toEqual(['table', 'lines']);
	});
	it('is a line for each value of its keys, with holes where nothing was', () => {
		const t = table([['window', 'time', 'key'], ['op', 'text', 'key'], ['n', 'int']], [[0, 'a', 1], [1e9, 'a', 2], [1e9, 'b', 30], [null, 'a', 5]]);
		expect(linesOf(t)).toEqual({ x: [0, 1], series: [{ name: 'b', unit: '', y: [null, 30], sum: 30 }, { name: 'a', unit: '', y: [1, 2], sum: 3 }], of: 2 });
	});
	it('draws the number that is asked for', () => {
		const t = table([['window', 'time'], ['n', 'int'], ['m', 'int']], [[0, 1, 9]]);
		expect(linesOf(t).series.map((s) => s.name)).toEqual(['m', 'n']);
		expect(linesOf(t, 'n').series.map((s) => s.name)).toEqual(['n']);
	});
	it('has keys that are numbers: by pid', () => {
		const t = table([['pid', 'int', 'key'], ['count', 'int']], [[15194, 7], [15087, 3]]);
		const { keys, numbers } = shapeOf(t);
		expect(t.rows.map((r) => [nameOf(r, keys), r[numbers[0]!.name]])).toEqual([['15194', 7], ['15087', 3]]);
		expect(chartsFor(t)).toEqual(['bars', 'table']);
	});
	it('has keys that are sizes: by log2(bytes)', () => {
		const t = table([['size', 'int', 'key'], ['count', 'int']], [[4096, 7], [null, 3]]);
		t.columns[0]!.unit = 'bytes';
		expect(t.rows.map((r) => nameOf(r, shapeOf(t).keys))).toEqual(['4.00 KiB', '–']);
		expect(shapeOf(t).numbers.map((c) => c.name)).toEqual(['count']);
	});
	it('has several keys: by op, cpu every 50ms', () => {
		const t = table([['window', 'time', 'key'], ['op', 'text', 'key'], ['cpu', 'int', 'key'], ['count', 'int']], [[0, 'read', 0, 5], [0, 'read', 1, 6], [1e9, 'read', 0, 7], [1e9, 'close', 1, 1]]);
		expect(linesOf(t).series.map((s) => [s.name, ...s.y])).toEqual([['read 0', 5, 7], ['read 1', 6, null], ['close 1', null, 1]]);
	});
	it('has lines for numbers alone: by pid every 50ms', () => {
		const t = table([['window', 'time', 'key'], ['pid', 'int', 'key'], ['count', 'int'], ['bytes', 'int']], [[0, 11, 5, 1], [0, 12, 6, 2]]);
		expect(linesOf(t).series.map((s) => [s.name, ...s.y])).toEqual([['12', 6], ['11', 5]]);
		expect(linesOf(t, 'bytes').series.map((s) => [s.name, ...s.y])).toEqual([['12', 2], ['11', 1]]);
	});
	it('tells of how many lines it shows those with most', () => {
		const t = table([['window', 'time', 'key'], ['pid', 'int', 'key'], ['count', 'int']], Array.from({ length: 28 }, (_, i) => [0, i, i]));
		const { series, of } = linesOf(t);
		expect([series.length, of, series[0]!.name]).toEqual([12, 28, '27']);
	});
	it('of SQL has so many keys as tell its rows apart, and no line where none do', () => {
		const pids = table([['pid', 'int'], ['n', 'int']], [[11, 5], [11, 5]]);
		expect(chartsFor(pids, true)).toEqual(['table']);
		const cpus = table([['op', 'text'], ['cpu', 'int'], ['n', 'int']], [['read', 0, 5], ['read', 1, 6]]);
		expect(cpus.rows.map((r) => nameOf(r, shapeOf(cpus).keys))).toEqual(['read  0', 'read  1']);
		const tids = table([['pid', 'int'], ['comm', 'text'], ['calls', 'int']], [[11, 'a', 5], [12, 'a', 9]]);
		expect(shapeOf(tids).numbers.map((c) => c.name)).toEqual(['calls']);
		expect(charts([['op', 'text'], ['n', 'int']], [['read', 5], ['open', 5]], true)).toEqual(['bars', 'table']);
		expect(charts([['t', 'time'], ['n', 'int']], [[0, 5], [0, 6]], true)).toEqual(['table']);
		expect(charts([['t', 'time'], ['n', 'int']], [[0, 5], [1, 6]], true)).toEqual(['lines', 'table']);
	});
	it('is a CSV that others read', () => {
		expect(csvOf(table([['a', 'text'], ['b', 'int']], [['x,"y"\n', null], ['', 5]]))).toBe('a,b\n"x,""y""\n",\n"",5\n');
	});
});

describe('columns', () => {
	function encode(head: object, data: Uint8Array<ArrayBuffer>): ArrayBuffer {
		const text = new TextEncoder().encode(JSON.stringify(head));
		const base = Math.ceil((12 + text.length) / 8) * 8;
		const out = new Uint8Array(base + data.length);
		out.set(new TextEncoder().encode('weircol1'));
		new DataView(out.buffer).setUint32(8, text.length, true);
		out.set(text, 12);
		out.set(data, base);
		return out.buffer;
	}
	const column = { name: 'x', type: 'int', unit: '', encoding: 'f64', offset: 0, length: 16 };
	const head = { origin: '0', rows: 2, loss: { events: 0, causes: {} }, columns: [column] };
	const data = new Uint8Array(Float64Array.from([1.5, NaN]).buffer);
	it('are read where they lie', () => expect([...decodeColumns(encode(head, data)).numbers('x')]).toEqual([1.5, NaN]));
	it('that are cut or are something else are refused', () => {
		expect(() => decodeColumns(new ArrayBuffer(4))).toThrow('not a table');
		expect(() => decodeColumns(encode(head, data).slice(0, 40))).toThrow('truncated');
		expect(() => decodeColumns(encode(head, data.slice(0, 8))).numbers('x')).toThrow('truncated');
		expect(() => decodeColumns(encode(head, data)).numbers('y')).toThrow('no column');
		expect(() => decodeColumns(encode(head, data)).codes('x')).toThrow('no column');
	});
});

describe('windows', () => {
	it('are some two hundred of a range, and round', () => {
		expect([1e3, 1e9, 9.7e9, 20e9, 60e9, 3600e9, 86400e9].map(windowFor)).toEqual(['1ms', '5ms', '50ms', '100ms', '500ms', '20s', '500s']);
	});
	it('leave everything else of a question where it was', () => {
		const q = 'by op every $window | count() as n';
		expect(fillWindow(q, 20e9)).toBe('by op every 100ms   | count() as n');
		expect(fillWindow(q, 1e17)).toHaveLength(q.length);
		expect(['by every 2.5ms | hist(dur)', 'by op every 1min   | count()', 'by op | count()', 'SELECT 1'].map(everyOf)).toEqual([2.5e6, 60e9, undefined, undefined]);
	});
});

describe('filters', () => {
	it('are joined as they were meant', () => {
		expect(bothOf('', 'a == 1')).toBe('a == 1');
		expect(bothOf('a == 1', 'b == 2')).toBe('a == 1 && b == 2');
		expect(bothOf('a == 1 || c == 3', 'b == 2')).toBe('(a == 1 || c == 3) && b == 2');
		expect(bothOf('a == 1 or c == 3', 'b == 2')).toBe('(a == 1 or c == 3) && b == 2');
	});
});

describe('a view', () => {
	it('survives the address', () => {
		const view = { page: 'timeline', from: 5, to: 17, filter: 'path ~ "a&b=c"', host: 'db 1', own: { row: '12', sort: 'p99' } };
		expect(parseView(formatView(view))).toEqual(view);
		expect(formatView(parseView(''))).toBe('');
		expect(parseView('?from=x&to=1e3')).toMatchObject({ from: undefined, to: undefined });
	});
	it('is of the host that is chosen, whatever filter is typed', () => {
		const view = { page: 'files', filter: 'a == 1 || b == 2', host: 'db1', own: {} };
		expect(hostedFilter(view)).toBe('(a == 1 || b == 2) && host == "db1"');
		expect(hostedFilter({ ...view, filter: '' })).toBe('host == "db1"');
		expect(hostedFilter({ ...view, host: '' })).toBe(view.filter);
	});
	it('quotes what names hold', () => expect(quote('a"b\\c')).toBe('"a\\"b\\\\c"'));
});
