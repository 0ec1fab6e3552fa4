// SPDX-License-Identifier: Apache-2.0
// Dark and light; canvases take their colours from the style sheet through here.

type Theme = 'dark' | 'light';

class Themes {
	name = $state<Theme>('dark');
	/** Changes with the theme: an effect that draws reads colour() and is run again. */
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

/** The colour (by name) of an operation: data calls are split into those that read and those that write. */
export function opColour(op: string, cls: string): string {
	if (cls === 'data') return WRITES.test(op) ? 'write' : 'read';
	return ['meta', 'sync', 'net', 'process', 'wait'].includes(cls) ? cls : 'other';
}
