// SPDX-License-Identifier: Apache-2.0
// What a question says of its answer that the columns do not: how long its windows are, and which numbers are 0 where a
// window has no row, for there was no call in it.

const UNITS: Record<string, number> = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9, d: 86400e9 };
/** Of no call at all these are 0; a percentile of none is nothing. */
const COUNTED = new Set(['count', 'countif', 'sum', 'rate']);
/** Of what a rate keeps the unit; of anything else it is a number. */
const RATES: Record<string, string> = { '': '', bytes: 'bytes', size: 'bytes', dur: 'ns', held: 'ns' };

export interface Meaning {
	/** Length of a window in ns; null: there are none, or it is not known which were left out. */
	step: number | null;
	/** Columns that are 0 in a window without a row. */
	zero: Set<string>;
	/** Units of columns that are so much a second: '' for calls, 'bytes' or 'ns'. */
	rates: Map<string, string>;
}

/** Cuts at a sign that stands outside of brackets and texts. */
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
		// times a factor it is in a unit that only who asked knows
		if (is[1] === 'rate' && !is[3] && of in RATES) none.rates.set(name, RATES[of]!);
	}
	// a later stage may have left out rows that were there
	const whole = stages.slice(by + 2).every((s) => /^sort\b/i.test(s));
	const every = /\bevery\s+(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|min|h|d)\s*$/i.exec(stages[by]!);
	return { ...none, step: whole && every ? Number(every[1]) * UNITS[every[2]!.toLowerCase()]! : null };
}
