// SPDX-License-Identifier: Apache-2.0
// Dark and light; provides canvases with the colours of the style sheet.

type Theme = 'dark' | 'light';

class Themes {
	name = $state<Theme>('dark');
	/** Changes with the theme: an effect that reads colour() runs again. */
	private colours = $state.raw<Record<string, string>>({});

	start() {
		const kept = localStorage.getItem('weir-theme');
		const wished = matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
		this.set(kept === 'dark' || kept === 'light' ? kept : wished, false);
	}

	set(name: Theme, keep = true) {
		this.name = name;
		document.documentElement.dataset.theme = name;
		if (keep) localStorage.setItem('weir-theme', name);
		const style = getComputedStyle(document.documentElement);
		const names = ['ground', 'panel', 'raised', 'line', 'text', 'quiet', 'accent', 'warn', 'bad', 'read', 'write', 'meta', 'sync', 'net', 'process', 'wait', 'other', 'more1', 'more2', 'more3', 'more4', 'more5', 'mono', 'sans'];
		this.colours = Object.fromEntries(names.map((n) => [n, style.getPropertyValue(`--${n}`).trim()]));
	}

	toggle() {
		this.set(this.name === 'dark' ? 'light' : 'dark');
	}

	colour(name: string): string {
		return this.colours[name] ?? '#888888';
	}
}

export const theme = new Themes();

const WRITES = /write|send|truncate|fallocate|splice|copy_file_range/;

/** The colour (by name) of an operation: data calls are split into reads and writes. */
export function opColour(op: string, cls: string): string {
	if (cls === 'data') return WRITES.test(op) ? 'write' : 'read';
	return ['meta', 'sync', 'net', 'process', 'wait'].includes(cls) ? cls : 'other';
}

declare const __OPS__: string; // defined in vite.config.ts

export interface Look {
	/** By name. */
	colour: string;
	/** Intensity: distinguishes operations of one class. */
	alpha: number;
}

const STRENGTHS = [1, 0.72, 0.52, 0.36];

/** Per operation, its class, and how many before it have its colour. */
const known = new Map<string, { cls: string; nth: number }>();
const counts = new Map<string, number>();
for (const of of __OPS__.split(',')) {
	const [op, cls] = of.split(' ') as [string, string];
	const colour = opColour(op, cls);
	const nth = counts.get(colour) ?? 0;
	known.set(op, { cls, nth });
	counts.set(colour, nth + 1);
}

/** The looks of operations, the same on every page; those in one chart that would look the same are made distinct. */
export function looksOf(ops: { name: string; class?: string }[]): Look[] {
	const taken = new Set<string>();
	return ops.map(({ name, class: cls }) => {
		const of = known.get(name);
		const colour = opColour(name, cls ?? of?.cls ?? 'other');
		const own = of?.nth ?? 0;
		const nth = STRENGTHS.map((_, i) => (own + i) % STRENGTHS.length).find((n) => !taken.has(`${colour} ${n}`)) ?? own % STRENGTHS.length;
		taken.add(`${colour} ${nth}`);
		return { colour, alpha: STRENGTHS[nth]! };
	});
}

const NAMES = ['read', 'write', 'meta', 'sync', 'net', 'process', 'other', 'more1', 'more2', 'more3', 'more4', 'more5'];

/** Colours of other names, such as processes: a name has the same colour on every page, unless one before it in the chart has it. */
export function looksOfNames(names: string[]): Look[] {
	const taken = new Set<string>();
	return names.map((name) => {
		let hash = 0;
		for (let i = 0; i < name.length; i++) hash = (Math.imul(hash, 31) + name.charCodeAt(i)) >>> 0;
		const colour = NAMES.map((_, i) => NAMES[(hash + i) % NAMES.length]!).find((c) => !taken.has(c)) ?? NAMES[hash % NAMES.length]!;
		taken.add(colour);
		return { colour, alpha: 1 };
	});
}

/** The colours of a class. */
export const classLook = (cls: string): Look => ({ colour: cls === 'data' ? 'read' : opColour('', cls), alpha: 1 });
