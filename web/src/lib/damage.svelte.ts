// SPDX-License-Identifier: Apache-2.0
// What the server knows to be damaged: each of its answers says so in a header (docs/openapi.yaml). A page may be open for
// hours; when more becomes known, the trace's description and every figure are asked for again.

class Damage {
	/** What the last answer said; '' while nothing is wrong. */
	known = $state('');
	/** Called when it changed. */
	changed = () => {};

	hear(header: string | null) {
		if (header === null) return; // a server before it had this
		const text = header.replace(/unverified=\d+/, '').replace('blocks=0; rows=0; calls=0; ', '');
		if (text === this.known) return;
		this.known = text;
		this.changed();
	}
}

export const damage = new Damage();
