// SPDX-License-Identifier: Apache-2.0
// pages.mjs WEIR TRACE [WEB]: what the pages of `weir serve` cost in a browser, on a trace that should be large: time to
// the first figures, frames a second while the range is zoomed and panned, memory. Prints a table; docs/howto/run-the-bench.md
// has the goals. By hand, on a machine that does nothing else:
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
const serve = spawn(weir, ['serve', '--json', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((done, failed) => {
	serve.stdout.once('data', (d) => done(JSON.parse(String(d)).url));
	serve.once('exit', (code) => failed(new Error(`weir serve ended with ${code}`)));
});
const browser = await driver.launch({ executablePath: chromium, args: ['--no-sandbox', '--disable-gpu', '--enable-precise-memory-info'] });
const context = await browser.newContext({ viewport: { width: 1600, height: 900 } });
const page = await context.newPage();
page.setDefaultTimeout(120000);
const cdp = await context.newCDPSession(page);
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
			// it went away
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

/** JavaScript objects and what hangs on them (typed arrays), in MiB, after a collection. */
async function heap() {
	await cdp.send('HeapProfiler.collectGarbage');
	const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await cdp.send('Runtime.getHeapUsage');
	return (usedSize + embedderHeapUsedSize + backingStorageSize) / 1048576;
}

/** Opens a view; ms until `sign` stands on the page and no answer is waited for. */
async function open(search, sign) {
	const began = performance.now();
	await page.goto('about:blank');
	await page.goto(view(search), { waitUntil: 'commit' });
	await page.locator(sign).first().waitFor();
	await page.waitForFunction(() => !document.querySelector('.busy'));
	return performance.now() - began;
}

/** Holds keys in turn and takes the time of every frame. */
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

const rows = [];
async function measure(name, search, sign, label) {
	const first = await open(search, sign);
	await page.waitForLoadState('networkidle');
	const again = await open(search, sign);
	await page.waitForLoadState('networkidle');
	const frames = label ? await move(label) : null;
	await page.waitForLoadState('networkidle');
	rows.push({ page: name, 'first ms': first.toFixed(0), 'again ms': again.toFixed(0), 'frames/s': frames?.fps.toFixed(0) ?? '', 'p50 ms': frames?.p50.toFixed(1) ?? '', 'p95 ms': frames?.p95.toFixed(1) ?? '', 'worst ms': frames?.worst.toFixed(0) ?? '', 'over 33 ms': frames ? `${(100 * frames.slow).toFixed(1)} %` : '', 'heap MiB': (await heap()).toFixed(0), 'renderer MiB': renderer().toFixed(0) });
}

try {
	await measure('overview', '', '[aria-label=Totals]', 'calls by time and latency');
	await measure('timeline', '?page=timeline', 'canvas[aria-label="Calls of each thread over time"]', 'Calls of each thread over time');
	await measure('latency', '?page=latency', 'text=Percentiles over time', 'calls by time and latency');
	const { busiest } = await page.evaluate(async () => {
		const token = sessionStorage.getItem('weir-token');
		const answer = await fetch('/api/v1/overview?width=10', { headers: { Authorization: `Bearer ${token}` } });
		return { busiest: (await answer.json()).files.rows[0]?.id };
	});
	await measure('files', '?page=files', 'text=folder or file');
	if (busiest !== undefined) await measure('one file', `?page=files&file=${busiest}`, 'text=What was done', 'where in the file calls read and wrote, over time');
	await measure('explore', `?page=explore&q=${encodeURIComponent('by op | count(), sum(bytes), p99(dur)')}`, '[role=status]:has-text("rows")');
	await measure('dashboards', '?page=dashboards&name=service', 'text=Calls a second by class');
	console.table(rows);
} finally {
	await browser.close();
	serve.kill('SIGINT');
}
