// SPDX-License-Identifier: Apache-2.0
// A dashboard is a JSON file next to the trace: questions, and the chart of each on a grid of twelve columns.

import { get } from './api';
import { COLUMNS, fit, settle } from './grid';
import type { ChartKind } from './result';
import { quote } from './state.svelte';

export interface Tile {
	title: string;
	q: string;
	/** The question's language; by default the query language. */
	language?: 'sql';
	chart: ChartKind;
	/** The column to draw, if there are several numbers. */
	value?: string;
	/** Position on the grid; rows are 80 pixels high. */
	x: number;
	y: number;
	w: number;
	h: number;
}

/** Restrictions that apply to all charts of a dashboard: a process by its pid or name, a folder by its path. */
export const VARIABLES = ['process', 'folder'] as const;
export interface Variable {
	name: (typeof VARIABLES)[number];
	/** Used if the address has none; absent: all. */
	default?: string;
}

export interface Dashboard {
	version: 1;
	title: string;
	about?: string;
	/** If absent: both, without a default. */
	variables?: Variable[];
	tiles: Tile[];
}

export interface DashboardName {
	name: string;
	title: string;
	shipped: boolean;
}

const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export async function listDashboards(): Promise<DashboardName[]> {
	return ((await (await get('dashboards')).json()) as { dashboards: DashboardName[] }).dashboards;
}

export async function loadDashboard(name: string): Promise<Dashboard> {
	return asDashboard(await (await get(`dashboards/${encodeURIComponent(name)}`)).json(), name);
}

const CHARTS: ChartKind[] = ['table', 'lines', 'bars', 'heat', 'hist'];

export const variablesOf = (d: Dashboard): Variable[] => d.variables ?? VARIABLES.map((name) => ({ name }));

/** In the address: overrides the default with all. */
export const ALL = 'all';

/** The current value of a variable, given the address; empty: all. */
export function valueOf(variable: Variable, own: Record<string, string | undefined>): string {
	const value = own[variable.name] ?? variable.default ?? '';
	return value === ALL ? '' : value;
}

/** The parameter that gives a variable this value. */
export const ownOf = (variable: Variable, value: string) => ({ [variable.name]: value === (variable.default ?? '') ? undefined : value || ALL });

/** The condition that the variables add to every question in the query language. */
export function conditionsOf(variables: readonly Variable[], own: Record<string, string | undefined>): string {
	return variables
		.flatMap((v) => {
			const value = valueOf(v, own);
			if (!value) return [];
			if (v.name === 'folder') return [`path ~ ${quote(`${value.replace(/\/+$/, '')}/**`)}`];
			return [/^\d+$/.test(value) ? `pid == ${value}` : `process ~ ${quote(`${value} *`)}`];
		})
		.join(' && ');
}

function asVariables(given: unknown[]): Variable[] {
	return VARIABLES.flatMap((name): Variable[] => {
		const v = given.find((g) => (g as Variable | null)?.name === name) as Variable | undefined;
		return v ? [{ name, ...(typeof v.default === 'string' && v.default ? { default: v.default } : {}) }] : [];
	});
}

/** A dashboard from an untrusted file: invalid tiles are left out, missing members are filled in. */
export function asDashboard(given: unknown, name: string): Dashboard {
	const from = (typeof given === 'object' && given !== null ? given : {}) as Record<string, unknown>;
	const text = (v: unknown, otherwise: string) => (typeof v === 'string' ? v : otherwise);
	const tiles = (Array.isArray(from.tiles) ? from.tiles : []).flatMap((t: Record<string, unknown> | null): Tile[] => {
		if (typeof t?.q !== 'string') return [];
		const chart = CHARTS.includes(t.chart as ChartKind) ? (t.chart as ChartKind) : 'table';
		const tile: Tile = { title: text(t.title, t.q), q: t.q, chart, ...fit(t as unknown as Tile) };
		if (t.language === 'sql') tile.language = 'sql';
		if (typeof t.value === 'string') tile.value = t.value;
		return [tile];
	});
	settle(tiles).forEach((box, i) => Object.assign(tiles[i]!, box));
	return { version: 1, title: text(from.title, name), ...(typeof from.about === 'string' ? { about: from.about } : {}), ...(Array.isArray(from.variables) ? { variables: asVariables(from.variables) } : {}), tiles };
}

/** The file name for a title. */
export function nameOf(title: string, otherwise = 'dashboard'): string {
	const name = title.trim().replace(/[^A-Za-z0-9_-]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 64);
	return name || otherwise;
}

export async function saveDashboard(name: string, dashboard: Dashboard): Promise<void> {
	if (!NAME.test(name)) throw new Error('a name consists of up to 64 letters, digits, - and _');
	await get(`dashboards/${name}`, {}, undefined, undefined, 'PUT', JSON.stringify(dashboard));
}

export async function dropDashboard(name: string): Promise<void> {
	await get(`dashboards/${encodeURIComponent(name)}`, {}, undefined, undefined, 'DELETE');
}

/** Puts a tile below the others of the dashboard with this title, creating it if needed. Returns its name. */
export async function addTile(title: string, tile: Omit<Tile, 'x' | 'y' | 'w' | 'h'>): Promise<string> {
	const own = (await listDashboards()).filter((d) => !d.shipped);
	const name = own.find((d) => d.title === title || d.name === title)?.name ?? nameOf(title);
	const dashboard: Dashboard = own.some((d) => d.name === name) ? await loadDashboard(name) : { version: 1, title, tiles: [] };
	const y = Math.max(0, ...dashboard.tiles.map((t) => t.y + t.h));
	dashboard.tiles.push({ ...tile, x: 0, y, w: COLUMNS / 2, h: 4 });
	settle(dashboard.tiles).forEach((box, i) => Object.assign(dashboard.tiles[i]!, box));
	await saveDashboard(name, dashboard);
	return name;
}
