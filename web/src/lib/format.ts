// SPDX-License-Identifier: Apache-2.0
// Formats figures like the commands (src/cli/terminal/format.h): three digits and a unit.

// a unit begins where its figure, once rounded, is 1.00
const DURATIONS: [number, string][] = [
	[1e9, 's'],
	[1e6, 'ms'],
	[1e3, 'us'],
	[1, 'ns'],
];
const DURATIONS_FROM = 0.9995;
const SIZES: [number, string][] = [
	[2 ** 60, 'EiB'],
	[2 ** 50, 'PiB'],
	[2 ** 40, 'TiB'],
	[2 ** 30, 'GiB'],
	[2 ** 20, 'MiB'],
	[2 ** 10, 'KiB'],
	[1, 'B'],
];
const SIZES_FROM = 1023.5 / 1024;

export const MISSING = '–';

function digits(x: number): string {
	const size = Math.abs(x);
	return x.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

function scaled(x: number, units: [number, string][], from: number): string {
	const size = Math.abs(x);
	for (const [unit, name] of units) if (unit > 1 && size >= unit * from) return `${size >= 999.5e9 && name === 's' ? count(Math.round(x / unit)) : digits(x / unit)} ${name}`;
	return `${Number.isInteger(x) ? x : digits(x)} ${units[units.length - 1]![1]}`;
}

/** A short form for round figures, as at the ticks of an axis: 5 ms, not 5.00 ms; 2/s, not 2.00/s. */
export function tick(figure: string): string {
	return figure.replace(/\.(\d*?)0+([ /])/, (_, rest: string, end: string) => (rest ? `.${rest}${end}` : end));
}

export function duration(ns: number | null | undefined): string {
	return ns === null || ns === undefined || Number.isNaN(ns) ? MISSING : scaled(ns, DURATIONS, DURATIONS_FROM);
}

export function size(bytes: number | null | undefined): string {
	return bytes === null || bytes === undefined || Number.isNaN(bytes) ? MISSING : scaled(bytes, SIZES, SIZES_FROM);
}

/**
 * With thousands separators: 1,234.5. Not the browser's formatter, whose first use takes tens of milliseconds that pages would
 * wait for.
 */
export function count(n: number | null | undefined): string {
	if (n === null || n === undefined || Number.isNaN(n)) return MISSING;
	if (!Number.isFinite(n)) return n > 0 ? '∞' : '-∞';
	const [whole, part] = (Number.isInteger(n) ? BigInt(n).toString() : n.toFixed(2).replace(/\.?0+$/, '')).split('.');
	const apart = whole!.replace(/\B(?=(\d{3})+$)/g, ',');
	return part ? `${apart}.${part}` : apart;
}

/** A number with a letter for its thousands: 12.3 k, 4.56 M. */
export function compact(n: number): string {
	for (const [unit, name] of [
		[1e12, 'T'],
		[1e9, 'G'],
		[1e6, 'M'],
		[1e3, 'k'],
	] as const)
		if (Math.abs(n) >= unit) return tick(`${digits(n / unit)} ${name}`);
	return Number.isInteger(n) ? String(n) : digits(n);
}

export function rate(perSecond: number): string {
	return `${perSecond >= 1e4 ? compact(perSecond) : perSecond >= 9.995 || perSecond === 0 ? count(Math.round(perSecond)) : digits(perSecond)}/s`;
}

/** Formats a value according to its type in the API. */
export function value(v: unknown, type: string, unit = ''): string {
	if (v === null || v === undefined) return MISSING;
	if (unit === '/s') return rate(Number(v));
	if (unit.endsWith('/s')) return `${value(v, '', unit.slice(0, -2))}/s`;
	if (type === 'dur' || unit === 'ns') return type === 'time' ? relative(Number(v)) : duration(Number(v));
	if (type === 'size' || unit === 'bytes') return size(Number(v));
	if (typeof v === 'number') return count(v);
	return plain(String(v));
}

/** A point in time as seconds since the start of the trace: +5.213418 s. */
export function relative(ns: number): string {
	const sign = ns < 0 ? '-' : '+';
	return `${sign}${(Math.abs(ns) / 1e9).toFixed(6)} s`;
}

const two = (n: number) => String(n).padStart(2, '0');

/** Whole seconds, and nanoseconds, on a clock `offset` seconds ahead of UTC. */
function at(origin: string, ns: number, offset: number): { date: Date; nanos: number } {
	const epoch = BigInt(origin) + BigInt(Math.round(ns)) + BigInt(offset) * 1_000_000_000n;
	const nanos = Number(((epoch % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n);
	return { date: new Date(Number((epoch - BigInt(nanos)) / 1_000_000n)), nanos };
}

/**
 * A point in time on the server's clock, with its zone, as the commands print it; times typed in a question are interpreted in
 * the same zone.
 */
export function clock(origin: string, ns: number, offset: number): string {
	const { date, nanos } = at(origin, ns, offset);
	const minutes = Math.abs(Math.trunc(offset / 60));
	const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}${two(minutes % 60)}`;
	return `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}.${String(nanos).padStart(9, '0').slice(0, 6)} ${zone}`;
}

// characters that a terminal or browser would interpret: controls, and marks that change text direction
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const SHORT: Record<string, string> = { '\n': '\\n', '\t': '\\t', '\r': '\\r' };

/** A displayable name: names are untrusted, and invisible characters in them are escaped. */
export function plain(name: string): string {
	return name.replace(UNSEEN, (c) => SHORT[c] ?? `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** The day of a point in time, in the server's zone. */
export function day(origin: string, ns: number, offset: number): string {
	const { date } = at(origin, ns, offset);
	return `${date.getUTCDate()} ${MONTHS[date.getUTCMonth()]} ${date.getUTCFullYear()}`;
}

/** Bits of a call's status, in order, with their names in the query language (src/query/check/vocabulary.c). */
const STATUS = ['unfinished', 'interrupted', 'denied', 'contested', 'append', 'held', 'no_start', 'noreturn', 'by_path', 'arg_unread', 'slept'];

/** A call's status as weir query prints it: by_path|slept. */
export function statusWords(bits: number): string {
	const words = STATUS.filter((_, i) => bits & (1 << i));
	const rest = bits & ~((1 << STATUS.length) - 1);
	if (rest) words.push(`0x${(rest >>> 0).toString(16)}`);
	return words.join('|') || '0';
}
