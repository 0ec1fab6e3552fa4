// SPDX-License-Identifier: Apache-2.0
// A dashboard is a JSON file beside the trace: questions, and how each is drawn on a grid of twelve columns.

import { get } from './api';
import type { ChartKind } from './result';

export interface Tile {
	title: string;
	q: string;
	chart: ChartKind;
	/** Place on the grid; rows are 80 pixels high. */
	x: number;
	y: number;
	w: number;
	h: number;
}

export interface Dashboard {
	version: 1;
	title: string;
	about?: string;
	tiles: Tile[];
}

export interface DashboardName {
	name: string;
	title: string;
	shipped: boolean;
}

export const COLUMNS = 12;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

export async function listDashboards(): Promise<DashboardName[]> {
	return ((await (await get('dashboards')).json()) as { dashboards: DashboardName[] }).dashboards;
}

export async function loadDashboard(name: string): Promise<Dashboard> {
	return (await get(`dashboards/${encodeURIComponent(name)}`)).json();
}

export async function saveDashboard(name: string, dashboard: Dashboard): Promise<void> {
	if (!NAME.test(name)) throw new Error('a name has letters, digits, - and _, at most 64 of them');
	await get(`dashboards/${name}`, {}, undefined, undefined, 'PUT', JSON.stringify(dashboard));
}

export async function dropDashboard(name: string): Promise<void> {
	await get(`dashboards/${encodeURIComponent(name)}`, {}, undefined, undefined, 'DELETE');
}

/** Puts a tile below the others of a dashboard, which is made where there is none of that name. */
export async function addTile(name: string, tile: Pick<Tile, 'title' | 'q' | 'chart'>): Promise<void> {
	const known = (await listDashboards()).find((d) => d.name === name);
	const dashboard: Dashboard = known ? await loadDashboard(name) : { version: 1, title: name, tiles: [] };
	const y = Math.max(0, ...dashboard.tiles.map((t) => t.y + t.h));
	dashboard.tiles.push({ ...tile, x: 0, y, w: COLUMNS / 2, h: 4 });
	await saveDashboard(name, dashboard);
}
