// SPDX-License-Identifier: Apache-2.0
// The current view: one state for all pages, kept in the address so that a view can be shared and the browser's back and forward
// work. Times are nanoseconds since the trace's origin.

export interface View {
	page: string;
	from?: number;
	to?: number;
	filter: string; // an expression of the query language
	host: string; // the viewed machine, of several; '': all
	/** Parameters of single pages: the file shown, the query typed, the lane, the selected call. */
	own: Record<string, string>;
}

const NUMBER = /^-?\d+$/;

export function parseView(search: string): View {
	const params = new URLSearchParams(search);
	const own: Record<string, string> = {};
	const whole = (name: string) => {
		const text = params.get(name);
		return text !== null && NUMBER.test(text) ? Number(text) : undefined;
	};
	for (const [name, value] of params) if (!['page', 'from', 'to', 'filter', 'host'].includes(name)) own[name] = value;
	return {
		page: params.get('page') ?? 'overview',
		from: whole('from'),
		to: whole('to'),
		filter: params.get('filter') ?? '',
		host: params.get('host') ?? '',
		own,
	};
}

export function formatView(view: View): string {
	const params = new URLSearchParams();
	if (view.page !== 'overview') params.set('page', view.page);
	if (view.from !== undefined) params.set('from', String(Math.round(view.from)));
	if (view.to !== undefined) params.set('to', String(Math.round(view.to)));
	if (view.filter) params.set('filter', view.filter);
	if (view.host) params.set('host', view.host);
	for (const [name, value] of Object.entries(view.own)) if (value !== '') params.set(name, value);
	const text = params.toString();
	return text ? `?${text}` : '';
}

/** The typed filter, restricted to the viewed host. */
export function hostedFilter(view: View): string {
	if (!view.host) return view.filter;
	return bothOf(view.filter, `host == ${quote(view.host)}`);
}

/** The parameters of every question about the view. */
export function scopeOf(view: View): { filter: string; from: number | undefined; to: number | undefined } {
	return { filter: hostedFilter(view), from: view.from, to: view.to };
}

class State {
	view = $state<View>({ page: 'overview', filter: '', host: '', own: {} });
	/** The time under the pointer, shown by every chart; null if there is none. Not in the address. */
	cross = $state<number | null>(null);

	start() {
		this.view = parseView(location.search);
		addEventListener('popstate', () => (this.view = parseView(location.search)));
	}

	/** Goes to another view. `replace` for changes that are not a step of their own (a pan, a keystroke). */
	go(change: Partial<View>, replace = false) {
		const next: View = { ...this.view, ...change };
		for (const end of ['from', 'to'] as const) if (next[end] !== undefined) next[end] = Math.round(next[end]);
		if (change.page !== undefined && change.page !== this.view.page && change.own === undefined) next.own = {};
		this.view = next;
		// without a page the address means the first page, which may differ when it is opened again
		const address = location.pathname + (formatView(next) || `?page=${next.page}`) + location.hash;
		if (replace) history.replaceState(null, '', address);
		else history.pushState(null, '', address);
	}

	/** Sets parameters of the visible page. */
	own(change: Record<string, string | undefined>, replace = false) {
		const own = { ...this.view.own };
		for (const [name, value] of Object.entries(change))
			if (value === undefined) delete own[name];
			else own[name] = value;
		this.go({ own }, replace);
	}

	/** Narrows the filter: `&& expression`. */
	narrow(expression: string) {
		const filter = this.view.filter;
		if (filter === expression || filter.endsWith(` && ${expression}`)) return;
		this.go({ filter: bothOf(filter, expression) });
	}

	range(from: number | undefined, to: number | undefined, replace = false) {
		this.go({ from, to }, replace);
	}
}

export const state = new State();

/** Joins two filters. */
export function bothOf(filter: string, expression: string): string {
	if (!filter) return expression;
	return `${/\bor\b|\|\||\?/.test(filter) ? `(${filter})` : filter} && ${expression}`;
}

/** A text as a literal of the query language. */
export function quote(text: string): string {
	return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
