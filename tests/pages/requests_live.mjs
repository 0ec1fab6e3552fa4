// SPDX-License-Identifier: Apache-2.0
// requests_live.mjs WEIR ROOT: the page of requests beside a recording. The program ends a span only when it is told to, and is told so
// only once the page shows the one before.

import { spawn } from 'node:child_process';
import { dir, equal, main, newPage, PATIENCE_MS, rest, serve, skipped, stop, test, view, weir } from './common.mjs';

const STEPS = 5;
const program = `i=0; while read step; do i=$((i+1)); [ -r /dev/null/weir/begin:step ]; cat /etc/hostname >/dev/null; [ -r /dev/null/weir/end:step ]; echo done; done`;

function start() {
	const recorder = spawn(weir, ['record', '-q', '-o', 'live.trace', '--', 'sh', '-c', program], { cwd: dir, stdio: ['pipe', 'pipe', 'inherit'] });
	let said = 0;
	const waiting = [];
	recorder.stdout.on('data', (d) => {
		for (const _ of String(d).matchAll(/done/g)) said++;
		waiting.splice(0).forEach((f) => f());
	});
	const step = async (n) => {
		recorder.stdin.write('go\n');
		while (said < n) await new Promise((resolve) => waiting.push(resolve));
	};
	return { recorder, step };
}

await main(async (browser) => {
	if (process.getuid() !== 0) {
		skipped('requests of a recording that goes on', 'needs root');
		return;
	}
	const { recorder, step } = start();
	await step(1);
	const { child, url } = await serve('live.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	const page = await newPage(context);
	const took = [];

	await test('spans reach the page while the program runs', async () => {
		await page.goto(view(url, '?page=requests'));
		for (let n = 1; n <= STEPS; n++) {
			if (n > 1) await step(n);
			const ended = performance.now();
			await page.waitForFunction((want) => document.querySelectorAll('svg circle').length >= want, n, { polling: 20, timeout: PATIENCE_MS });
			took.push(performance.now() - ended);
		}
		console.log(`# a span was drawn ${took.slice(1).map((t) => (t / 1000).toFixed(2)).join(', ')} s after its end`);
		equal(await page.locator('svg circle').count(), STEPS, 'dots');
		const names = page.locator('table', { has: page.getByText('Requests', { exact: true }) }).locator('tbody tr');
		await page.waitForFunction((want) => [...document.querySelectorAll('table tbody tr td:nth-child(2)')].some((d) => d.textContent.trim() === want), String(STEPS), { timeout: PATIENCE_MS });
		equal(await names.count(), 1, 'names');
	});

	await test('and stay when the recording ends', async () => {
		const gone = new Promise((resolve) => recorder.once('exit', resolve));
		recorder.stdin.end();
		await gone;
		await page.getByText('live', { exact: true }).waitFor({ state: 'detached' });
		await rest(page);
		equal(await page.locator('svg circle').count(), STEPS, 'dots');
	});

	await context.close();
	await stop(child);
});
