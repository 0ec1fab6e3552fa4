// SPDX-License-Identifier: Apache-2.0
// What a question determines about its answer beyond the columns: the length of its windows, and which numbers are 0 in a window
// without a row, as it had no calls.

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9, d: 86400e9 };
/** These are 0 without calls; a percentile of nothing is undefined. */
const COUNTED = new Set(['count', 'countif', 'sum', 'rate']);
/** What a rate keeps the unit of; for anything else it is a plain number. */
const RATES: Record<string, string> = { '': '', bytes: 'bytes', size: 'bytes', dur: 'ns', held: 'ns' };

export interface Meaning {
	/** Length of a window in ns; null: there are none, or it is unknown which were left out. */
	step: number | null;
	/** Columns that are 0 in a window without a row. */
	zero: Set<string>;
	/** Units of columns that are rates per second: '' for calls, 'bytes' or 'ns'. */
	rates: Map<string, string>;
}

/** Splits at a character outside brackets and texts. */
function split(text: string, sign: string): string[] {
	const parts: string[] = [];
	let [depth, from] = [0, 0];
	for (let i = 0; i < text.length; i++) {
		const c = text[i]!;
		if (c === '"' || c === "'") for (i++; i < text.length && text[i] !== c; i++) if (text[i] === '\\') i++;
		if (c === '(') depth++;
		if (c === ')') depth--;
		if (c !== sign || depth > 0) continue;
		if (text[i + 1] === sign) i++; // `||`
		else {
			parts.push(text.slice(from, i));
			from = i + 1;
		}
	}
	return [...parts, text.slice(from)].map((p) => p.trim());
}

export function meaningOf(q: string): Meaning {
	const none: Meaning = { step: null, zero: new Set(), rates: new Map() };
	const stages = split(q, '|');
	const by = stages.findIndex((s) => /^by\b/i.test(s));
	if (by < 0) return none;
	for (const item of split(stages[by + 1] ?? 'count()', ',')) {
		const is = /^(\w+)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)(\s*[*/]\s*\d[\w.]*)?(?:\s+as\s+(\w+))?$/i.exec(item);
		if (!is || !COUNTED.has(is[1]!)) continue;
		const of = is[2]!.trim();
		const name = is[4] ?? (of ? `${is[1]}(${of})` : is[1]!);
		none.zero.add(name);
		// times a factor, its unit is known only to the author
		if (is[1] === 'rate' && !is[3] && of in RATES) none.rates.set(name, RATES[of]!);
	}
	// a later stage may have removed rows
	const whole = stages.slice(by + 2).every((s) => /^sort\b/i.test(s));
	const every = /\bevery\s+(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|min|h|d)\s*$/i.exec(stages[by]!);
	return { ...none, step: whole && every ? Number(every[1]) * UNITS[every[2]!.toLowerCase()]! : null };
}
