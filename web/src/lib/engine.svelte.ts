// SPDX-License-Identifier: Apache-2.0
// What needs DuckDB's library where the server has none: said once, and not asked again.

class Engine {
	/** What the server says of it; null: nothing is known to be missing. */
	missing = $state<string | null>(null);

	/** Whether what is asked there needs it. */
	needed = (path: string) => /^(query|sql|explain)$/.test(path);
}

export const engine = new Engine();
