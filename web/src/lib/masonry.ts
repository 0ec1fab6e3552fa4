// SPDX-License-Identifier: Apache-2.0
// Panels of different heights in columns without holes: a grid of rows of one pixel, each panel as many as it is high.

const GAP = 12; // pixels below a panel

export function masonry(grid: HTMLElement) {
	// the heights come with the entries: to ask for them would lay the page out again for each panel
	const fit = (e: ResizeObserverEntry) => ((e.target as HTMLElement).style.gridRowEnd = `span ${Math.ceil(e.borderBoxSize[0]!.blockSize) + GAP}`);
	const sizes = new ResizeObserver((entries) => entries.forEach(fit));
	for (const panel of grid.children) sizes.observe(panel);
	return { destroy: () => sizes.disconnect() };
}
