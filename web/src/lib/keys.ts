// SPDX-License-Identifier: Apache-2.0
// Keys that the page on the screen takes besides those of all pages.

export type KeyTaker = (key: string) => boolean;

const takers: KeyTaker[] = [];

/** Until the returned function is called, `taker` is asked first; true says that the key was its own. */
export function takeKeys(taker: KeyTaker): () => void {
	takers.push(taker);
	return () => {
		const at = takers.indexOf(taker);
		if (at >= 0) takers.splice(at, 1);
	};
}

export function offerKey(key: string): boolean {
	for (let i = takers.length - 1; i >= 0; i--) if (takers[i]!(key)) return true;
	return false;
}

/** A key that belongs to what is being typed into. */
export function typing(e: KeyboardEvent): boolean {
	return e.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
}
