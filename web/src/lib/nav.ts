// SPDX-License-Identifier: Apache-2.0
// The pages, as data: a new page is one line here and one file in pages/.

import type { Component } from 'svelte';

export interface Page {
	id: string; // in the address
	title: string;
	key: string; // g followed by this key opens it
	hint: string;
	load: () => Promise<{ default: Component }>;
}

export const pages: Page[] = [
	{ id: 'overview', title: 'Overview', key: 'o', hint: 'what was recorded and what stands out', load: () => import('../pages/Overview.svelte') },
	{ id: 'findings', title: 'Findings', key: 'w', hint: 'what is wrong and what to change', load: () => import('../pages/Findings.svelte') },
	{ id: 'timeline', title: 'Timeline', key: 't', hint: 'every call of every thread', load: () => import('../pages/Timeline.svelte') },
	{ id: 'files', title: 'Files', key: 'f', hint: 'which files were accessed, and where in them', load: () => import('../pages/Files.svelte') },
	{ id: 'latency', title: 'Latency', key: 'l', hint: 'what is slow, and when', load: () => import('../pages/Latency.svelte') },
	{ id: 'disks', title: 'Disks', key: 'k', hint: 'disk requests: how many, how slow, from which processes', load: () => import('../pages/Disks.svelte') },
	{ id: 'stacks', title: 'Stacks', key: 's', hint: 'which functions made the calls', load: () => import('../pages/Stacks.svelte') },
	{ id: 'requests', title: 'Requests', key: 'r', hint: 'where requests spent their time', load: () => import('../pages/Requests.svelte') },
	{ id: 'flow', title: 'Flow', key: 'c', hint: 'where the bytes went, and what caused what', load: () => import('../pages/Flow.svelte') },
	{ id: 'compare', title: 'Compare', key: 'm', hint: 'two hosts, containers, programs or time ranges side by side', load: () => import('../pages/Compare.svelte') },
	{ id: 'explore', title: 'Explore', key: 'e', hint: 'any query', load: () => import('../pages/Explore.svelte') },
	{ id: 'dashboards', title: 'Dashboards', key: 'd', hint: 'saved charts', load: () => import('../pages/Dashboards.svelte') },
];
