// SPDX-License-Identifier: Apache-2.0
// The only code that talks to the server; its API is docs/openapi.yaml.

import { decodeColumns, type Columns } from './columns';
import { damage } from './damage.svelte';
import type { Diff } from './compare';
import type { Disks } from './disks';
import type { Alike, Order } from './alike';
import type { Flow, FlowPlace } from './flow';
import type { RequestClusters, RequestCompare, RequestHeat, RequestLog, RequestNames, RequestTree } from './requests';
import { engine } from './engine.svelte';

export interface Loss {
	events: number | null;
	causes: Record<string, number | null>;
	/** More may be missing than was counted. */
	at_least?: boolean;
	/** Of the trace: their contents are in no figure. */
	damaged_blocks?: number;
	/** Changes to traces since the server opened them; `path` is the first. */
	files?: { traces: number; path: string; what: ('deleted' | 'moved' | 'replaced' | 'cut')[] };
	/** Traces whose recorder was killed, or that were cut; calls may be missing after that time, in ns since the epoch. */
	unclosed?: { traces: number; complete_until: string | null };
	/** Recordings that ended because of a failure, or whose file another program wrote into: time and reason of the first. */
	failed?: { recordings: number; at: string; why: string };
	/** Processes with an io_uring that the kernel polls: their requests make no calls and are in no figure; `first`: "fio (4711)". */
	polled?: { processes: number; first: string };
	/** Tables other than op that lack rows, and why: side_full, ... */
	beside?: { table: string | null; cause: string; why: string; rows: number; at_least: boolean }[];
	/** Requests of io_uring and libaio are rows, so that figures include them. */
	requests?: boolean;
}

/** Causes without missing events: rows lack a part, which each text names. As in src/cli/terminal/loss_text.c. */
export const incompleteRows: Record<string, (n: string) => string> = {
	path_cut: (n) => `${n} ${n === '1' ? 'path was' : 'paths were'} truncated`,
	argument_unread: (n) => `${n} ${n === '1' ? 'argument' : 'arguments'} could not be read`,
	no_file: (n) => `${n} ${n === '1' ? 'call lacks its' : 'calls lack their'} file`,
	unsent: (n) => `${n} ${n === '1' ? 'address, context or end of a thread was' : 'addresses, contexts or ends of threads were'} not recorded`,
	stack: (n) => `${n} ${n === '1' ? 'stack was' : 'stacks were'} not recorded`,
};
/** Events of the recording because of which no ended call is missing. */
export const recordingNotes = new Set(['stopped', 'hold_limit', 'running_unread']);

export interface Column {
	name: string;
	type: string;
	unit: string;
	/** Rows were grouped by this column. */
	key?: true;
}

export interface TraceInfo {
	version: string;
	origin: string;
	/** Seconds east of UTC in the server's time zone. */
	offset: number;
	first: number;
	last: number;
	live: boolean;
	/** More may come: a recording is running, or a folder is served. */
	follow: boolean;
	generation: number;
	command: string;
	/** The options that selected the calls to record; empty: none; null: they differ between the traces. */
	selection: string | null;
	/** A path with a scheme is the address of a store: its rows were fetched into a file when the server started. */
	traces: { path: string; bytes: number }[];
	/**
	 * `drift`: how far its wall clock moved relative to the trace's until recording ended, ns. `ahead`: the correction
	 * subtracted from its times, accurate to `bound`; missing if they are as recorded.
	 */
	hosts: { name: string; kernel: string; machine: string; cpus: number; drift?: number; ahead?: number; bound?: number }[];
	ops: number;
	/** Per table that has rows. */
	rows: Record<string, number>;
	threads: number;
	loss: Loss & { windows?: LossWindow[] };
}

export interface LossWindow {
	from: number;
	to: number;
	cause: string;
	/** The table that lacks rows; null: unknown, but not that of the calls. */
	table: string | null;
	events: number | null;
}

export interface Table {
	origin: string;
	columns: Column[];
	rows: Record<string, unknown>[];
	loss: Loss;
	truncated?: boolean;
}

/** Calls of one stack, as in `weir stacks --json`: functions from the outermost on, separated by semicolons. */
export interface StackRow {
	time: number;
	calls: number;
	errors: number;
	bytes: number;
	stack: string;
	kernel: string | null;
	cut: number;
}

export interface Stacks {
	rows: StackRow[];
	loss: Loss;
	/** Sums of the calls that have a stack, and of those that have none. */
	with: { time: number; bytes: number; calls: number; errors: number };
	without: { time: number; bytes: number; calls: number; errors: number };
}

/** A finding, as in `weir diagnose --json`; times are ns since the origin. */
export interface Finding {
	rule: string;
	level: 'note' | 'warning' | 'problem';
	sentence: string;
	path: string | null;
	pid: number | null;
	calls: number | null;
	bytes: number | null;
	time: number | null;
	/** Of the time that work waited. */
	share: number | null;
	/** "yes", or the alternative explanation. */
	sure: string;
	pos: number | null;
	stop_pos: number | null;
	start: number | null;
	stop: number | null;
	evidence: string | null;
	change: string | null;
	query: string | null;
	file_id: number | null;
}

export interface Diagnosis {
	rows: Finding[];
	loss: Loss;
	rules: number;
	rules_found: number;
	/** Rules that lack recorded data: words of record --with, none if calls are selected. */
	not_run: { rule: string; needs: string }[];
	/** ns that work spent in I/O calls and waits, and the part that findings explain. */
	work_time: number;
	cost: number;
	/** Both count each of concurrent calls, and are more than the time that passed. */
	summed: boolean;
}

/** The parameters of every question of a page. */
export interface Scope {
	filter?: string;
	from?: number;
	to?: number;
}

interface Ranking {
	rows: Record<string, unknown>[];
	others: number;
}

export interface Overview {
	origin: string;
	from: number;
	to: number;
	step: number;
	/** The requested range; `from` and `to` are those of whole columns. */
	asked_from: number;
	asked_to: number;
	/** For a partial answer: the share of the trace that it covers; absent: all. */
	read?: number;
	totals: {
		calls: number;
		errors: number;
		bytes: number;
		time: number;
		wait_time: number;
		/** Calls that submit requests to the kernel (libaio, io_uring): the I/O of those requests is in no figure. */
		handing_over: number;
		threads: number;
		processes: number;
		/** Null in a brief answer. */
		files: number | null;
		running: number;
	};
	rate: { ops: { name: string; class: string }[]; calls: number[][]; bytes: number[][]; errors: number[] };
	latency: { cells: number[] };
	ops: Ranking;
	/** A row of several files has `files`, their number, and `kind`, the word for them. */
	files: Ranking;
	processes: Ranking;
	threads: Ranking;
	errors: Ranking;
	waiting: Ranking;
	/** Calls of processes, memory, signals, ... */
	not_io: Ranking;
	slowest: Ranking;
}

/** The part that is known before files and single calls are summed. */
export type Brief = Omit<Overview, 'files' | 'errors' | 'slowest'> & Partial<Overview>;

/** A thread on the timeline. */
export interface Lane {
	id: number;
	tid: number;
	comm: string;
	pid: number;
	process: string;
	/** Distinguishes the process from others of its name. */
	argument: string | null;
	container: string | null;
	host: string;
	calls: number;
	/** In calls that did more than wait, and in those that only waited, ns. */
	time: number;
	wait_time: number;
	/** id(thread) of the query language. */
	thread: number;
	/** The parent process; -1: unknown. */
	ppid: number;
}

export interface FileNode {
	name: string;
	path: string;
	dir: boolean;
	/** A file's id; null for folders and lines of several files. */
	id: number | null;
	/** For a line of several files: its number, how many files, the word for them, and those with most time. */
	line?: number;
	files?: number;
	kind?: string;
	members?: FileNode[];
	calls: number;
	errors: number;
	bytes: number;
	time: number;
}

export const SECTIONS = ['paths', 'sockets', 'pipes', 'anon', 'others'] as const;
export type Section = (typeof SECTIONS)[number];

/** Files by a part of their name, a row per path. */
export interface FileList {
	rows: (Record<string, unknown> & { id: number; name: string | null; section: Section; files?: number; kind?: string })[];
	others: number;
	sections: Record<Section, { files: number; calls: number; bytes: number; time: number }>;
}

export interface OneFile {
	id: number;
	name: string;
	type: string;
	fs: string | null;
	ino: string | null;
	generation: string | null;
	calls: number;
	io_calls: number;
	io_time: number;
	bytes: number;
	time: number;
	life: { time: number | null; what: string; name: string }[];
	/** By operation and process. */
	users: Record<string, unknown>[];
}

export interface Latency {
	from: number;
	to: number;
	step: number;
	/** Flat triples: time bucket, histogram bucket, calls. */
	cells: number[];
	series?: { name: string; stats: { calls: number; p50: number; p90: number; p99: number; p999: number; max: number }; hist?: number[] }[];
}

export interface Call {
	call: Record<string, unknown>;
	text: string;
	near: { row: number; start: number; dur: number; text: string }[];
}

export interface Completion {
	start: number;
	words: { text: string; kind: string; doc?: string }[];
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

// The token comes in the link's fragment, which no server log or referrer contains, and is kept for reloads.
const given = () => /(?:^#|&)token=([0-9a-f]+)/.exec(location.hash)?.[1];

function token(): string {
	const fresh = given();
	if (fresh) {
		sessionStorage.setItem('weir-token', fresh);
		history.replaceState(null, '', location.pathname + location.search);
	}
	return fresh ?? sessionStorage.getItem('weir-token') ?? '';
}

/** The link that gives a colleague on this machine access to the same view. */
export function shareLink(): string {
	return `${location.origin}${location.pathname}${location.search}#token=${bearer}`;
}

const bearer = typeof location === 'undefined' ? '' : token();

/** Identifies this page: the server gives each page its turns. */
const client = Math.random().toString(36).slice(2);

/** A link pasted into the address of an open page, after a restart of the server: the browser does not reload the page. */
export function followNewLinks() {
	addEventListener('hashchange', () => {
		if (given() && given() !== bearer) location.reload();
		else if (given()) history.replaceState(null, '', location.pathname + location.search);
	});
}

type Params = Record<string, string | number | undefined>;

function search(params: Params): string {
	const query = new URLSearchParams();
	for (const [name, value] of Object.entries(params)) if (value !== undefined && value !== '') query.set(name, String(value));
	return query.toString();
}

const BUSY_MS = 500;
const BUSY_TRIES = 40; // each also waits for a turn in the server

/** Answers requested before their page was loaded, by their question. */
const early = new Map<string, { answer: Promise<Response>; control: AbortController }>();

function keyOf(path: string, params: Params): string {
	const query = new URLSearchParams(search(params));
	query.sort();
	return `${path}?${query}`;
}

/** Sends a page's request in advance; the first get() of the same takes the answer. */
export function askAhead(path: string, params: Params = {}): void {
	const control = new AbortController();
	const answer = get(path, params, control.signal);
	answer.catch(() => {}); // reported to its taker
	early.set(keyOf(path, params), { answer, control });
}

function takeEarly(path: string, params: Params, signal: AbortSignal | undefined): Promise<Response> | undefined {
	const key = keyOf(path, params);
	const found = early.get(key);
	if (!found) return undefined;
	early.delete(key);
	if (signal?.aborted) found.control.abort(signal.reason);
	signal?.addEventListener('abort', () => found.control.abort(signal.reason), { once: true });
	return found.answer;
}

export const hasToken = () => bearer !== '';

const NO_ENGINE = 503; // until the server is restarted

/**
 * A page sends more requests at once than the server processes: those that got no turn are repeated. Requests that need a
 * missing engine are sent once.
 */
export async function get(path: string, params: Params = {}, signal?: AbortSignal, accept = 'application/json', method = 'GET', body?: string): Promise<Response> {
	const asked = early.size && method === 'GET' && accept === 'application/json' ? takeEarly(path, params, signal) : undefined;
	if (asked) return asked;
	if (engine.missing !== null && engine.needed(path)) throw new ApiError(engine.missing, NO_ENGINE);
	const text = search(params);
	const ask = () =>
		fetch(`/api/v1/${path}${text ? '?' + text : ''}`, {
			method,
			headers: { Authorization: `Bearer ${bearer}`, Accept: accept, 'Weir-Client': client },
			signal: signal ?? null,
			body: body ?? null,
		});
	const asking = () =>
		ask().catch((e: unknown) => {
			if (signal?.aborted || !(e instanceof TypeError)) throw e;
			throw new ApiError('weir serve does not respond: it has exited or its host cannot be reached. If it was started again, open the link that it printed then', 0);
		});
	let answer = await asking();
	for (let i = 0; answer.status === 429 && i < BUSY_TRIES; i++) {
		await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
		answer = await asking();
	}
	damage.hear(answer.headers.get('Weir-Damage'));
	if (answer.status === 401)
		throw new ApiError(hasToken() ? 'weir serve does not accept the token of this page: it was started again, with another token. Open the link that it printed then' : 'This address has no token', 401);
	if (!answer.ok) {
		const said = await answer.json().catch(() => ({ error: { message: answer.statusText } }));
		if (answer.status === NO_ENGINE && engine.needed(path)) engine.missing = said.error.message;
		throw new ApiError(said.error.message, answer.status, said.error.pos, said.error.len);
	}
	return answer;
}

/** Reads an endpoint that answers in columns. */
export async function getColumns(path: string, params: Record<string, string | number | undefined>, signal?: AbortSignal): Promise<Columns> {
	const answer = await get(path, params, signal, 'application/vnd.weir.columns');
	return decodeColumns(await answer.arrayBuffer());
}

/** Requests that cannot carry a header (event streams, downloads) are authenticated by a cookie, which is requested first. */
async function cookie(): Promise<void> {
	await get('session', {}, undefined, undefined, 'POST');
}

/** Starts a download of all results of the pipeline. */
export async function download(q: string, scope: Scope, format: 'csv' | 'json' | 'parquet'): Promise<void> {
	await cookie();
	const link = document.createElement('a');
	link.href = `/api/v1/query?${search({ q, ...scope, format, download: 1 })}`;
	link.download = '';
	link.click();
}

/**
 * Follows a live trace or a folder of traces; the browser reconnects by itself. A hidden tab closes its stream: a browser has
 * six connections to a server for all tabs, and a seventh tab would never load. `over`: it does not reconnect.
 */
export async function events(on: { trace: (t: TraceInfo) => void; state: (up: boolean, over?: boolean) => void }): Promise<void> {
	await cookie();
	let source: EventSource | null = null;
	const follow = () => {
		if (document.hidden) {
			source?.close();
			source = null;
		} else source ??= listen();
	};
	const listen = () => {
		const stream = new EventSource('/api/v1/events');
		stream.addEventListener('open', () => on.state(true));
		stream.addEventListener('error', () => on.state(false, stream.readyState === EventSource.CLOSED));
		stream.addEventListener('trace', (e) => on.trace(JSON.parse((e as MessageEvent<string>).data)));
		stream.addEventListener('end', (e) => {
			on.trace(JSON.parse((e as MessageEvent<string>).data));
			stream.close();
			document.removeEventListener('visibilitychange', follow);
		});
		return stream;
	};
	document.addEventListener('visibilitychange', follow);
	follow();
}

export const api = {
	trace: async (): Promise<TraceInfo> => (await get('trace')).json(),
	query: async (q: string, scope: Scope = {}, limit?: number, signal?: AbortSignal): Promise<Table> =>
		(await get('query', { q, ...scope, limit }, signal)).json(),
	overview: async (params: Scope & { width: number }, signal?: AbortSignal): Promise<Overview> =>
		(await get('overview', { ...params }, signal)).json(),
	brief: async (params: Scope & { width: number; within: number }, signal?: AbortSignal): Promise<Brief> =>
		(await get('overview', { ...params, brief: 1 }, signal)).json(),
	sql: async (statement: string, signal?: AbortSignal): Promise<Table> => (await get('sql', {}, signal, undefined, 'POST', statement)).json(),
	explain: async (q: string, scope: Scope): Promise<string> => ((await (await get('explain', { q, ...scope })).json()) as { text: string }).text,
	lanes: async (params: Scope, signal?: AbortSignal): Promise<{ lanes: Lane[] }> => (await get('lanes', { ...params }, signal)).json(),
	call: async (row: number, near = 0, signal?: AbortSignal): Promise<Call> => (await get(`op/${row}`, { near }, signal)).json(),
	/**
	 * The next (or previous) call that agrees in the values listed by `same`, from the call or from the time `at` on; null
	 * at the end.
	 */
	nextCall: async (row: number, params: { same: string; back: boolean; filter?: string; at?: number }): Promise<number | null> => {
		try {
			const answer = await get(`op/${row}/next`, { same: params.same, back: params.back ? 1 : undefined, filter: params.filter, at: params.at });
			return ((await answer.json()) as { row: number }).row;
		} catch (e) {
			if (e instanceof ApiError && e.status === 404) return null;
			throw e;
		}
	},
	files: async (dir: string, scope: Scope, signal?: AbortSignal): Promise<{ entries: FileNode[]; others: number }> => (await get('files', { dir, ...scope }, signal)).json(),
	fileList: async (what: Scope & { find: string; section: Section | 'all' }, signal?: AbortSignal): Promise<FileList> => (await get('files', { ...what }, signal)).json(),
	file: async (id: number, scope: Scope, signal?: AbortSignal): Promise<OneFile> => (await get(`file/${id}`, { ...scope }, signal)).json(),
	latency: async (params: Scope & { width: number; by?: string }, signal?: AbortSignal): Promise<Latency> =>
		(await get('latency', { ...params }, signal)).json(),
	stacks: async (what: Scope & { weight: string; kernel: boolean }, signal?: AbortSignal): Promise<Stacks> =>
		(await get('analysis/stacks', { ...what, kernel: what.kernel ? '1' : undefined }, signal)).json(),
	diagnose: async (scope: Scope, signal?: AbortSignal): Promise<Diagnosis> => (await get('analysis/diagnose', { ...scope }, signal)).json(),
	requests: async <T extends RequestNames | RequestLog | RequestTree | RequestCompare | RequestHeat | RequestClusters>(what: Scope & Record<string, string | number | undefined>, signal?: AbortSignal): Promise<T> =>
		(await get('analysis/requests', { ...what }, signal)).json(),
	flow: async (what: Scope & Record<string, string | number | undefined>, signal?: AbortSignal): Promise<Flow> => (await get('analysis/flow', { ...what }, signal)).json(),
	/** Groups of equal and similar data, with their members and links. */
	alike: async (what: Scope & { least: number; most: number }, signal?: AbortSignal): Promise<Alike> => (await get('analysis/flow', { ...what, groups: '1', list: '1' }, signal)).json(),
	order: async (what: Scope & { most: number }, signal?: AbortSignal): Promise<Order> => (await get('analysis/flow', { ...what, order: '1' }, signal)).json(),
	/** Every later place of the bytes that these calls moved. */
	places: async (what: Scope & { of: string }, signal?: AbortSignal): Promise<FlowPlace[]> =>
		((await (await get('analysis/flow', { ...what }, signal)).json()) as { tables: { tree?: { rows: FlowPlace[] } } }).tables.tree?.rows ?? [],
	diff: async (what: Scope & Record<string, string | number | undefined>, signal?: AbortSignal): Promise<Diff> => (await get('analysis/diff', { ...what }, signal)).json(),
	disks: async (scope: Scope, signal?: AbortSignal): Promise<Disks> => (await get('analysis/disks', { ...scope }, signal)).json(),
	check: async (params: { q?: string; filter?: string }, signal?: AbortSignal): Promise<{ ok: true; columns?: Column[] }> =>
		(await get('check', params, signal)).json(),
	complete: async (params: { q?: string; filter?: string; pos: number }, signal?: AbortSignal): Promise<Completion> =>
		(await get('complete', params, signal)).json(),
};
