// SPDX-License-Identifier: Apache-2.0
// What the tests of the pages share: weir, its server, a browser, TAP. Arguments of a test: WEIR ROOT.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

export const [weir, root] = process.argv.slice(2, 4).map((p) => resolve(p));

/** Nothing here waits for a time; this is for a machine that stalls. */
export const PATIENCE_MS = 120000;

export function skip(why) {
	console.log(`1..0 # skip ${why}`);
	process.exit(0);
}

// The shell has no window at all, and takes less than half of the browser's time.
const chromium = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
if (!chromium) skip('no chromium here');
if (!existsSync(join(root, 'web/node_modules/playwright-core'))) skip('web/node_modules is not there: tools/pages');
const playwright = createRequire(join(root, 'web/package.json'))('playwright-core');

export const dir = mkdtempSync(join(tmpdir(), 'weir-pages-'));
export const children = new Set();
/** Of the page at hand: console errors, exceptions, failed requests. */
export const problems = [];
let number = 0;
let failed = 0;

export function run(...args) {
	return execFileSync(weir, args, { encoding: 'utf8', cwd: dir, maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] });
}

export const ask = (q, ...more) => JSON.parse(run('query', '--json', q, ...more));

export function serve(trace, ...options) {
	const child = spawn(weir, ['serve', '--json', ...options, trace], { cwd: dir, stdio: ['ignore', 'pipe', 'inherit'] });
	children.add(child);
	return new Promise((resolve, reject) => {
		let said = '';
		child.stdout.on('data', (d) => {
			said += d;
			if (said.includes('\n')) resolve({ child, url: JSON.parse(said).url });
		});
		child.once('exit', (code) => reject(new Error(`weir serve ended with ${code}`)));
	});
}

export async function stop(child, signal = 'SIGINT') {
	const gone = new Promise((resolve) => child.once('exit', resolve));
	child.kill(signal);
	await gone;
	children.delete(child);
}

export async function newPage(context) {
	const page = await context.newPage();
	page.setDefaultTimeout(PATIENCE_MS);
	page.on('console', (m) => m.type() === 'error' && problems.push(`console: ${m.text()} ${m.location().url}`));
	page.on('pageerror', (e) => problems.push(`exception: ${e.message}`));
	page.on('dialog', (d) => (problems.push(`dialog: ${d.message()}`), d.dismiss()));
	return page;
}

/** Every answer that the page waits for is there and drawn. */
export async function rest(page) {
	await page.waitForLoadState('networkidle');
	const still = () => document.querySelector('main:not(.alone)') && !document.querySelector('.busy, [aria-busy=true]');
	do {
		await page.waitForFunction(still);
		await page.evaluate(async () => {
			await document.fonts.ready;
			for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
		});
	} while (!(await page.evaluate(still)));
}

/** A parameter of the address, as the page has it now (page.url() may lag behind). */
export const inAddress = (page, name) => page.evaluate((n) => new URL(location.href).searchParams.get(n), name);

/** The link to a view: what is in the address, and the token behind it. */
export const view = (url, search) => url.replace('/#', `/${search}#`);

export function equal(got, want, what) {
	if (String(got) !== String(want)) throw new Error(`${what}: ${got} instead of ${want}`);
}

export function skipped(name, why) {
	console.log(`ok ${++number} - ${name} # skip ${why}`);
}

export async function test(name, body) {
	number++;
	problems.length = 0;
	try {
		await body();
		if (problems.length) throw new Error(problems.join('; '));
		console.log(`ok ${number} - ${name}`);
	} catch (e) {
		failed++;
		console.log(`not ok ${number} - ${name}`);
		console.log(`# ${String(e.message).split('\n').slice(0, 6).join('\n# ')}`);
	}
}

/** Runs the tests in a browser and ends the program. */
export async function main(tests) {
	let browser;
	try {
		// without a graphics card emulated by software, which takes a second of CPU in each test
		const args = ['--no-sandbox', '--disable-gpu', '--disable-software-rasterizer'];
		browser = await playwright.chromium.launch({ executablePath: chromium, args, timeout: PATIENCE_MS });
		const newContext = browser.newContext.bind(browser);
		browser.newContext = (options) => newContext({ reducedMotion: 'reduce', ...options });
		await tests(browser);
	} catch (e) {
		console.log(`not ok ${++number} - ${e.message.split('\n')[0]}`);
		failed++;
	} finally {
		await browser?.close();
		for (const child of children) child.kill('SIGINT');
		rmSync(dir, { recursive: true, force: true });
	}
	console.log(`1..${number}`);
	process.exit(failed ? 1 : 0);
}
