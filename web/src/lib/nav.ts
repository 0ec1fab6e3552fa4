// SPDX-License-Identifier: Apache-2.0
// The pages, as data: a new page is one line here and one file in pages/.

import type { Component } from 'svelte';

export interface Page {
	id: string; // in the address
	title: string;
	key: string; // g and this key go there
	hint: string;
	load: () => Promise<{ default: Component }>;
}

export const pages: Page[] = [
	{ id: 'overview', title: 'Overview', key: 'o', hint: 'what was recorded, and what stands out', load: () => import('../pages/Overview.svelte') },
	{ id: 'findings', title: 'Findings', key: 'w', hint: 'what is wrong, and what to change', load: () => import('../pages/Findings.svelte') },
	{ id: 'timeline', title: 'Timeline', key: 't', hint: 'every call of every thread', load: () => import('../pages/Timeline.svelte') },
	{ id: 'files', title: 'Files', key: 'f', hint: 'what was done to which file, and where in it', load: () => import('../pages/Files.svelte') },
	{ id: 'latency', title: 'Latency', key: 'l', hint: 'who is slow, and when', load: () => import('../pages/Latency.svelte') },
	{ id: 'disks', title: 'Disks', key: 'k', hint: 'requests to disks: how many, how slow, for whom', load: () => import('../pages/Disks.svelte') },
	{ id: 'stacks', title: 'Stacks', key: 's', hint: 'which functions led to the calls', load: () => import('../pages/Stacks.svelte') },
	{ id: 'requests', title: 'Requests', key: 'r', hint: 'where the time of requests went', load: () => import('../pages/Requests.svelte') },
	{ id: 'flow', title: 'Flow', key: 'c', hint: 'what became of the bytes, and what happened because of what', load: () => import('../pages/Flow.svelte') },
	{ id: 'compare', title: 'Compare', key: 'm', hint: 'two hosts, containers, programs or times side by side', load: () => import('../pages/Compare.svelte') },
	{ id: 'explore', title: 'Explore', key: 'e', hint: 'ask anything', load: () => import('../pages/Explore.svelte') },
	{ id: 'dashboards', title: 'Dashboards', key: 'd', hint: 'charts that were kept', load: () => import('../pages/Dashboards.svelte') },
];
