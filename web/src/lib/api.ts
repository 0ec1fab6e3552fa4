// SPDX-License-Identifier: Apache-2.0
// The one place that talks to the server: docs/openapi.yaml says what it answers.

export interface Loss {
	events: number | null;
	causes: Record<string, number | null>;
}

export interface Column {
	name: string;
	type: string;
	unit: string;
}

export interface TraceInfo {
	version: string;
	origin: string;
	first: number;
	last: number;
	live: boolean;
	generation: number;
	command: string;
	ops: number;
	loss: Loss;
}

export class ApiError extends Error {
	constructor(
		message: string,
		readonly status: number,
		readonly pos?: number,
		readonly len?: number,
	) {
		super(message);
	}
}

// The token comes in the link's fragment, which no server log and no referrer ever sees, and is kept for reloads.
function token(): string {
	const given = /(?:^#|&)token=([0-9a-f]+)/.exec(location.hash)?.[1];
	if (given) {
		sessionStorage.setItem('weir-token', given);
		history.replaceState(null, '', location.pathname + location.search);
	}
	return given ?? sessionStorage.getItem('weir-token') ?? '';
}

const bearer = typeof location === 'undefined' ? '' : token();

export async function get(path: string, params: Record<string, string | number | undefined> = {}, signal?: AbortSignal): Promise<Response> {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(params)) if (value !== undefined) query.set(name, String(value));
	const text = query.toString();
	const answer = await fetch(`/api/v1/${path}${text ? '?' + text : ''}`, {
		headers: { Authorization: `Bearer ${bearer}` },
		signal,
	});
	if (!answer.ok) {
		const said = await answer.json().catch(() => ({ error: { message: answer.statusText } }));
		throw new ApiError(said.error.message, answer.status, said.error.pos, said.error.len);
	}
	return answer;
}

export const api = {
	trace: async (): Promise<TraceInfo> => (await get('trace')).json(),
};
