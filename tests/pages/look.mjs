// SPDX-License-Identifier: Apache-2.0
// look.mjs WEIR ROOT [--update]: what every page looks like on a trace that is the same on every machine, dark and
// light, compared with the pictures in references/. Compared is what eyes compare: cells of 8 x 8 pixels by their mean
// colour, blurred, in a space of colours where distances are what is seen. Letters are boxes of a font made here, so that
// no font of the machine matters; another version of the browser changes little. A chart that is empty, moved or of other
// colours changes much, which is tested too. And no page is wider than its window.
// With --update the references are made anew: look at them before they are committed.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { boxFont } from './font.mjs';
import { readPng, writePng } from './png.mjs';
import { ask, equal, main, newPage, rest, root, run, serve, stop, test, view } from './common.mjs';

const CELL = 8; // pixels
const SEEN = 0.05; // a distance in Oklab that is seen without looking twice; black to white is 1
const SHARE_MAX = 0.02; // of the cells may differ by that much
const update = process.argv.includes('--update');
const references = join(root, 'tests/pages/references');
const found = join(process.cwd(), 'pages-look'); // what differed is left here

/** A picture as mean colours of its cells. */
function reduce({ width, height, rgb }) {
	const [w, h] = [Math.floor(width / CELL), Math.floor(height / CELL)];
	const sums = new Uint32Array(3 * w * h);
	for (let y = 0; y < h * CELL; y++) {
		const row = 3 * w * Math.floor(y / CELL);
		for (let x = 0, i = 3 * y * width; x < w * CELL; x++) {
			const cell = row + 3 * Math.floor(x / CELL);
			sums[cell] += rgb[i++];
			sums[cell + 1] += rgb[i++];
			sums[cell + 2] += rgb[i++];
		}
	}
	return { w, h, rgb: Uint8Array.from(sums, (v) => Math.round(v / (CELL * CELL))) };
}

/** What was found before: one pixel for each cell. */
function reference(path) {
	const { width, height, rgb } = readPng(readFileSync(path));
	return { w: width, h: height, rgb };
}

/** Oklab (Ottosson 2020) of each cell. */
function colours({ rgb }) {
	const out = new Float64Array(rgb.length);
	const linear = (v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
	for (let i = 0; i < rgb.length; i += 3) {
		const [r, g, b] = [linear(rgb[i]), linear(rgb[i + 1]), linear(rgb[i + 2])];
		const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
		const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
		const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
		out[i] = 0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s;
		out[i + 1] = 1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s;
		out[i + 2] = 0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s;
	}
	return out;
}

/** The mean of each cell and those around it. */
function blurred(lab, w, h) {
	const out = new Float64Array(lab.length);
	for (let y = 0; y < h; y++)
		for (let x = 0; x < w; x++)
			for (let k = 0; k < 3; k++) {
				let [sum, n] = [0, 0];
				for (let j = Math.max(0, y - 1); j <= Math.min(h - 1, y + 1); j++)
					for (let i = Math.max(0, x - 1); i <= Math.min(w - 1, x + 1); i++) [sum, n] = [sum + lab[3 * (j * w + i) + k], n + 1];
				out[3 * (y * w + x) + k] = sum / n;
			}
	return out;
}

/** The share of cells that look different. */
function difference(a, b) {
	if (a.w !== b.w || a.h !== b.h) return 1;
	const [p, q] = [a, b].map((i) => blurred(colours(i), i.w, i.h));
	let n = 0;
	for (let i = 0; i < p.length; i += 3) if (Math.hypot(p[i] - q[i], p[i + 1] - q[i + 1], p[i + 2] - q[i + 2]) > SEEN) n++;
	return n / (p.length / 3);
}

/** The page once it stands still: two pictures in a row are the same. */
async function still(page) {
	for (let before = null; ; ) {
		await rest(page);
		const now = await page.screenshot({ animations: 'disabled', caret: 'hide' });
		if (before?.equals(now)) return reduce(readPng(now));
		before = now;
	}
}

/** The measure itself: what it must not see, and what it must. */
async function measure(page, url) {
	const before = reference(join(references, `overview-dark.png`));
	await page.goto(view(url, '?page=overview'));
	const changed = async (css) => {
		const style = await page.addStyleTag({ content: css });
		const share = difference(await still(page), before);
		await style.evaluate((e) => e.remove());
		return share;
	};
	await test(`other letters are not seen`, async () => {
		const share = await changed('td, th, .tiles, .what { letter-spacing: 0.02em; font-weight: 300; }');
		if (share > SHARE_MAX) throw new Error(`${(100 * share).toFixed(1)} %`);
	});
	for (const [what, css] of [
		['a chart that is empty', 'canvas[aria-hidden] { visibility: hidden; }'],
		['a chart upside down', 'canvas[aria-hidden] { transform: scaleY(-1); }'],
		['a missing table', '.columns { display: none !important; }'],
		['other colours', 'canvas[aria-hidden] { filter: hue-rotate(90deg); }'],
		['a page moved by 24 pixels', 'main { padding-top: 38px !important; }'],
	])
		await test(`${what} is seen`, async () => {
			const share = await changed(css);
			if (share <= 2 * SHARE_MAX) throw new Error(`only ${(100 * share).toFixed(1)} %`);
		});
}

/** Nothing is cut on a phone, or on a screen magnified by 1.5; where there is room, tables fit into their panels. */
async function widths(page, url, views) {
	await page.goto(view(url, '?page=overview'));
	await rest(page);
	const buttons = page.getByLabel('Pages').getByRole('button');
	for (const [width, height] of [
		[390, 844],
		[853, 533],
		[1280, 800],
	])
		await test(`no page is wider than ${width} pixels`, async () => {
			await page.setViewportSize({ width, height });
			const open = [...Array(await buttons.count()).keys()].map((i) => () => buttons.nth(i).click());
			for (const go of [...open, () => page.goto(view(url, views.file))]) {
				await go();
				await rest(page);
				const wide = await page.evaluate(() =>
					[document.documentElement, document.querySelector('main'), ...(innerWidth >= 1280 ? document.querySelectorAll('section.panel > .fit') : [])]
						.filter((e) => e.scrollWidth > e.clientWidth)
						.map((e) => `${location.search} ${e.tagName}: ${e.scrollWidth} instead of ${e.clientWidth}`),
				);
				equal(wide.join(', '), '', 'too wide');
			}
		});
}

await main(async (browser) => {
	run('synth', '-q', '-o', 'look.trace', '--rows', '200000', '--seed', '11');
	const { child, url } = await serve('look.trace');
	const slow = ask('class == sync | select start, dur | sort dur desc | head 1', 'look.trace').rows[0];
	const file = ask('class == data && file_type == regular | by id(file) as id | sum(bytes) as n | sort n desc | head 1', 'look.trace').rows[0].id;
	const explore = (q, chart) => `?page=explore&chart=${chart}&q=${encodeURIComponent(q)}`;
	const views = {
		overview: '?page=overview',
		timeline: '?page=timeline',
		'timeline-near': `?page=timeline&from=${Math.round(slow.start - slow.dur)}&to=${Math.round(slow.start + 2 * slow.dur)}`,
		file: `?page=files&file=${file}`,
		latency: '?page=latency&by=class',
		'explore-lines': explore('by class every 5ms | rate() as calls', 'lines'),
		'explore-heat': explore('class in (data, meta, sync) | by every 5ms | hist(dur)', 'heat'),
		dashboards: '?page=dashboards&name=storage-engine',
	};
	mkdirSync(references, { recursive: true });
	for (const theme of ['dark', 'light']) {
		const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, deviceScaleFactor: 1, colorScheme: theme, timezoneId: 'UTC', locale: 'en-US', reducedMotion: 'reduce' });
		await context.addInitScript((font) => {
			const face = new FontFace('Box', Uint8Array.from(atob(font), (c) => c.charCodeAt(0)));
			document.fonts.add(face);
			face.load().then(null, (e) => console.error(`the box font: ${e}`));
			const sheet = new CSSStyleSheet();
			sheet.replaceSync(':root { --sans: Box !important; --mono: Box !important; }');
			document.adoptedStyleSheets = [sheet];
		}, boxFont().toString('base64'));
		const page = await newPage(context);
		for (const [name, search] of Object.entries(views))
			await test(`${name} looks as it did, ${theme}`, async () => {
				const path = join(references, `${name}-${theme}.png`);
				await page.goto(view(url, search));
				const now = await still(page);
				if (update) writeFileSync(path, writePng(now.w, now.h, now.rgb));
				if (!existsSync(path)) throw new Error(`${path} is not there: make it with --update`);
				const share = difference(now, reference(path));
				if (share > SHARE_MAX) {
					mkdirSync(found, { recursive: true });
					await page.screenshot({ path: join(found, `${name}-${theme}.png`) });
					throw new Error(`${(100 * share).toFixed(1)} % of it looks different; it is in ${found}, the reference is ${path}`);
				}
			});

		if (theme === 'dark') {
			await measure(page, url);
			await widths(page, url, views);
		}
		await context.close();
	}
	await stop(child);
});
