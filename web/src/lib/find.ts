// SPDX-License-Identifier: Apache-2.0
// The text of a search box: a word to look for in names, or a condition of the query language.

import { quote } from './state.svelte';

const CONDITION = /[=<>~&|!?]|\b(in|is|has|not|and|or)\b/;

/** The condition for calls whose operation, file, thread or numbers match the text; "" if it is empty. */
export function searched(text: string): string {
	const word = text.trim();
	if (!word) return '';
	if (CONDITION.test(word)) return word;
	const pattern = quote(word.includes('*') ? word : `*${word}*`);
	const names = `op ~ ${pattern} || file ~ ${pattern} || comm ~ ${pattern}`;
	return /^\d{1,9}$/.test(word) ? `${names} || tid == ${word} || pid == ${word}` : names;
}
