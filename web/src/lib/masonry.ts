// SPDX-License-Identifier: Apache-2.0
// Panels of different heights in columns without holes: a grid with rows of one pixel, of which each panel spans its height.

const GAP = 12; // pixels below a panel

export function masonry(grid: HTMLElement) {
	// the entries contain the heights: reading them from the elements would lay out the page once per panel
	const fit = (e: ResizeObserverEntry) => ((e.target as HTMLElement).style.gridRowEnd = `span ${Math.ceil(e.borderBoxSize[0]!.blockSize) + GAP}`);
	const sizes = new ResizeObserver((entries) => entries.forEach(fit));
	for (const panel of grid.children) sizes.observe(panel);
	return { destroy: () => sizes.disconnect() };
}
