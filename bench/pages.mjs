// SPDX-License-Identifier: Apache-2.0
// pages.mjs WEIR TRACE [WEB]: measures the pages of `weir serve` in a browser, on a large trace: time to the first figures
// and to all of them (cold: from the start of the server; new: it has read the summaries, but has answered nothing yet; again:
// repeated), frames per second while the range is zoomed and panned, memory. Prints a table; docs/howto/run-the-bench.md has
// the goals. Run it by hand, on an idle machine:
//
//   tools/pages && weir synth -o big.trace --rows 100000000 --seed 7
//   out/node/bin/node bench/pages.mjs build/src/cli/weir big.trace

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const [weir, trace, web = join(here, '../web')] = process.argv.slice(2).map((p) => resolve(p));
if (!trace) {
	console.error('usage: node bench/pages.mjs WEIR TRACE [WEB]');
	process.exit(2);
}
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const { chromium: driver } = createRequire(join(web, 'package.json'))('playwright-core');

const MOVING_MS = 4000;
const PATIENCE_MS = 300000;
const GOAL_FIRST_MS = 1000; // first figures or bars on the screen
let serve;
let url;

/** A server with empty caches, which prints its link when the trace is open; returns ms until then. */
async function start() {
	if (serve) {
		const gone = new Promise((done) => serve.once('exit', done));
		serve.kill('SIGINT');
		await gone;
	}
	const began = performance.now();
	serve = spawn(weir, ['serve', '--json', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
	url = await new Promise((done, failed) => {
		serve.stdout.once('data', (d) => done(JSON.parse(String(d)).url));
		serve.once('exit', (code) => failed(new Error(`weir serve ended with ${code}`)));
	});
	return performance.now() - began;
}

await start();
const browser = await driver.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info'] });
const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
// a permanent tab: without one each visit would open a window, whose own parts cost the browser two seconds of
// CPU in addition to the page; users who open a link have a window already
await context.newPage();
let page; // another tab for each visit
let cdp;
const view = (search) => url.replace('/#', `/${search}#`);

/** Resident memory, in MiB, of the browser's process for the page: the largest of its renderers. */
function renderer() {
	let most = 0;
	for (const pid of readdirSync('/proc').filter((n) => /^\d+$/.test(n)))
		try {
			if (!readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) continue;
			if (!descends(pid)) continue;
			const rss = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
			most = Math.max(most, Number(rss?.[1] ?? 0) / 1024);
		} catch {
			// it has exited
		}
	return most;
}

function descends(pid) {
	for (let at = Number(pid); at > 1; ) {
		if (at === process.pid) return true;
		at = Number(/PPid:\s+(\d+)/.exec(readFileSync(`/proc/${at}/status`, 'utf8'))?.[1] ?? 0);
	}
	return false;
}

/** JavaScript objects and their buffers (typed arrays), in MiB, after a collection. */
async function heap() {
	await cdp.send('HeapProfiler.collectGarbage');
	const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await cdp.send('Runtime.getHeapUsage');
	return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1048576;
}

/**
* Runs in the page, from its first script on: records when the first real figures or bars of a chart were drawn (the frame
 * after `first` returned true), and when everything was: no request is pending and every element is present. Times are
 * the page's own, from the start of its navigation.
 */
function watch({ first, all }) {
	const drawn = new Function(`return (${first})`)();
	const there = (sign) => [...document.querySelectorAll(sign)].some((e) => e.getClientRects().length);
	const times = (window.weir_times = { first: null, all: null, error: null });
	const look = () => {
		const now = performance.now();
		times.error = [...document.querySelectorAll('[role=alert]')].map((e) => e.textContent.trim()).find((text) => text) ?? null;
		if (times.first === null && drawn()) times.first = -1;
		else if (times.first === -1) times.first = now;
		const done = times.first > 0 && all.every(there) && !document.querySelector('.busy, [aria-busy=true]');
		if (times.all === null && done) times.all = -1;
		else if (times.all === -1) times.all = done ? now : null;
		if (times.all === null || times.all < 0) requestAnimationFrame(look);
	};
	requestAnimationFrame(look);
}

const AXIS = 40; // pixels at the bottom, where the axis' letters may have coloured edges
/** True if a canvas of the chart has a colour far from grey to the right of `left`. */
const charted = (label, left = 0) => `() => [...(document.querySelector('canvas[aria-label="${label}"]')?.parentElement.querySelectorAll('canvas') ?? [])].some((canvas) => {
	if (canvas.width <= ${left} || canvas.height <= ${AXIS}) return false;
	const { data } = canvas.getContext('2d').getImageData(${left}, 0, canvas.width - ${left}, canvas.height - ${AXIS});
	for (let i = 0; i < data.length; i += 4) if (data[i + 3] && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 60) return true;
	return false;
})`;
const numberIn = (selector) => `() => [...document.querySelectorAll('${selector}')].some((e) => /[0-9]/.test(e.textContent))`;

/** Waits until the server has finished its start-up work: it has used no CPU for a second. */
async function rested() {
	const used = () => readFileSync(`/proc/${serve.pid}/stat`, 'utf8').split(') ')[1].split(' ').slice(11, 13).join();
	for (let before = ''; before !== used(); await new Promise((done) => setTimeout(done, 1000))) before = used();
}

/** Opens a view in a new page; returns ms until the first figures, and until everything, were drawn. */
async function open(search, signs) {
	await page?.close();
	page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	cdp = await context.newCDPSession(page);
	await page.addInitScript(watch, signs);
	await page.goto(view(search), { waitUntil: 'commit' });
	await page.waitForFunction(() => window.weir_times?.all > 0 || window.weir_times?.error);
	const times = await page.evaluate(() => window.weir_times);
	if (times.error) throw new Error(`${search || 'overview'}: the page says: ${times.error}`);
	return times;
}

/** Holds keys in turn and measures the time of every frame. */
async function move(label) {
	const box = await page.getByLabel(label).first().boundingBox();
	await page.mouse.move(box.x + box.width * 0.6, box.y + Math.min(40, box.height / 2));
	await page.evaluate(() => {
		window.frames_ = [];
		const step = (now) => {
			window.frames_.push(now);
			window.frame_ = requestAnimationFrame(step);
		};
		window.frame_ = requestAnimationFrame(step);
	});
	for (const key of ['w', 'd', 's', 'a']) {
		await page.keyboard.down(key);
		await page.waitForTimeout(MOVING_MS / 4);
		await page.keyboard.up(key);
	}
	const times = await page.evaluate(() => (cancelAnimationFrame(window.frame_), window.frames_));
	const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
	const at = (q) => gaps[Math.min(gaps.length - 1, Math.floor(q * gaps.length))];
	return { fps: (1000 * gaps.length) / (times.at(-1) - times[0]), p50: at(0.5), p95: at(0.95), worst: gaps.at(-1), slow: gaps.filter((g) => g > 1000 / 30 + 1).length / gaps.length };
}

const paints = [];
const costs = [];
const ms = (t) => t.toFixed(0);
async function measure(name, search, signs, label) {
	const opening = await start();
	const cold = await open(search, signs);
	await start();
	await rested();
	const fresh = await open(search, signs);
	const again = await open(search, signs);
	paints.push({ page: name, 'cold first ms': ms(opening + cold.first), 'cold all': ms(opening + cold.all), 'new first': ms(fresh.first), 'new all': ms(fresh.all), 'again first': ms(again.first), 'again all': ms(again.all), goal: `${GOAL_FIRST_MS}: ${fresh.first < GOAL_FIRST_MS ? 'met' : 'missed'}` });
	console.log(paints.at(-1));
	const frames = label ? await move(label) : null;
	await page.waitForLoadState('networkidle');
	costs.push({ page: name, 'frames/s': frames?.fps.toFixed(0) ?? '', 'p50 ms': frames?.p50.toFixed(1) ?? '', 'p95 ms': frames?.p95.toFixed(1) ?? '', 'worst ms': frames?.worst.toFixed(0) ?? '', 'over 33 ms': frames ? `${(100 * frames.slow).toFixed(1)} %` : '', 'heap MiB': (await heap()).toFixed(0), 'renderer MiB': renderer().toFixed(0) });
}

try {
	await measure('overview', '', { first: numberIn('[aria-label=Totals] b'), all: ['canvas[aria-label="calls by time and latency"]', 'caption'] }, 'calls by time and latency');
	await measure('timeline', '?page=timeline', { first: charted('Calls of each thread over time', 300), all: ['footer'] }, 'Calls of each thread over time');
	await measure('latency', '?page=latency', { first: charted('calls by time and latency'), all: ['.u-wrap'] }, 'calls by time and latency');
	const { busiest } = await page.evaluate(async () => {
		const token = sessionStorage.getItem('weir-token');
		const answer = await fetch('/api/v1/overview?width=10', { headers: { Authorization: `Bearer ${token}` } });
		return { busiest: (await answer.json()).files.rows[0]?.id };
	});
	await measure('files', '?page=files', { first: numberIn('table[aria-label=Files] td.number'), all: ['table[aria-label=Files] td'] });
	if (busiest !== undefined) await measure('one file', `?page=files&file=${busiest}`, { first: numberIn('table[aria-label=Files] td.number, .one h2'), all: ['.one h2', '.one canvas'] }, 'positions read and written over time');
	await measure('explore', `?page=explore&q=${encodeURIComponent('by op | count(), sum(bytes), p99(dur)')}`, { first: `() => [...document.querySelectorAll('.result [role=status]')].some((e) => /[0-9]+ row/.test(e.textContent))`, all: ['.result'] });
	await measure('dashboards', '?page=dashboards&name=service', { first: numberIn('.grid td').replace('() => ', '() => !!document.querySelector(".grid canvas") || '), all: ['.grid canvas'] });
	console.table(paints);
	console.table(costs);
} finally {
	await browser.close();
	serve.kill('SIGINT');
}
