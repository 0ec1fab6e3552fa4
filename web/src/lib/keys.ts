// SPDX-License-Identifier: Apache-2.0
// Keys that the visible page handles in addition to those of all pages.

export type KeyTaker = (key: string) => boolean;

const takers: KeyTaker[] = [];

/** Until the returned function is called, `taker` is called first; true means that it handled the key. */
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

/** True for a key that belongs to the text input with the focus. */
export function typing(e: KeyboardEvent): boolean {
	return e.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName);
}
