// SPDX-License-Identifier: Apache-2.0
// Panels of different heights in columns without holes: a grid of rows of one pixel, each panel as many as it is high.

const GAP = 12; // pixels below a panel

export function masonry(grid: HTMLElement) {
	const fit = (panel: HTMLElement) => (panel.style.gridRowEnd = `span ${Math.ceil(panel.getBoundingClientRect().height) + GAP}`);
	const sizes = new ResizeObserver((entries) => entries.forEach((e) => fit(e.target as HTMLElement)));
	for (const panel of grid.children) sizes.observe(panel);
	return { destroy: () => sizes.disconnect() };
}
