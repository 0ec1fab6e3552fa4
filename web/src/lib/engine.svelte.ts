// SPDX-License-Identifier: Apache-2.0
// Features that need DuckDB's library when the server has none: reported once, and not requested again.

class Engine {
	/** The server's message; null: nothing is known to be missing. */
	missing = $state<string | null>(null);

	/** Whether requests to that path need it. */
	needed = (path: string) => /^(query|sql|explain)$/.test(path);
}

export const engine = new Engine();
