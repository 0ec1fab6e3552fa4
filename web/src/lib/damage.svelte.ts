// SPDX-License-Identifier: Apache-2.0
// Damage known to the server, which each of its answers reports in a header (docs/openapi.yaml). A page may be open for hours;
// when more damage becomes known, the trace's description and every figure are requested again.

class Damage {
	/** From the last answer; '' while there is none. */
	known = $state('');
	/** Called when it changed. */
	changed = () => {};

	hear(header: string | null) {
		if (header === null) return; // a server of an earlier version
		const text = header.replace(/unverified=\d+/, '').replace('blocks=0; rows=0; calls=0; ', '');
		if (text === this.known) return;
		this.known = text;
		this.changed();
	}
}

export const damage = new Damage();
