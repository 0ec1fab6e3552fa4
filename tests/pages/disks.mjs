// SPDX-License-Identifier: Apache-2.0
// disks.mjs WEIR ROOT: the page of disks, the layers of time and a call's waterfall, over a recording of a program that reads and
// writes a disk; and of a trace without any. What they show is compared with `weir disks` and `weir query`.

import { join } from 'node:path';
import { ask, dir, equal, main, newPage, rest, run, serve, skipped, stop, test, view } from './common.mjs';

const digits = (text) => Number(String(text).replace(/[^\d.]/g, ''));

async function recorded(browser) {
	const { child, url } = await serve('disk.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	const page = await newPage(context);
	const want = JSON.parse(run('disks', '--json', 'disk.trace'));
	const first = [...want.rows].sort((a, b) => b.time - a.time)[0];

	await test('the page of disks says what weir disks says', async () => {
		await page.goto(view(url, '?page=disks'));
		await page.getByText('Requests in flight').waitFor();
		await rest(page);
		const rows = page.locator('table', { has: page.getByText('Disks', { exact: true }) }).locator('tbody tr');
		equal(await rows.count(), want.rows.length, 'disks');
		equal(await rows.first().locator('td').first().innerText(), first.disk, 'the busiest disk');
		equal(digits(await rows.first().locator('td').nth(1).innerText()), first.requests, 'its requests');
		await page.getByLabel('requests by time and latency').waitFor();
	});

	await test('requests in flight add up to their time', async () => {
		const sum = want.tables.depth.rows.filter((r) => r.disk === first.disk).reduce((s, r) => s + r.depth, 0);
		const [a, b] = want.tables.depth.rows;
		if (Math.abs(sum * (b.at - a.at) - first.time) > first.time / 1000) throw new Error(`${sum * (b.at - a.at)} ns instead of ${first.time}`);
	});

	await test('the file that the program wrote is among those of the disk', async () => {
		const all = JSON.parse(run('disks', '--json', '--top', '10000', 'disk.trace')).tables.owners.rows;
		// other tests may keep another disk busier
		const [{ disk }] = ask('from block_part where path ~ "**/direct" | by disk | sum(bytes) as b | sort b desc | head 1', 'disk.trace').rows;
		for (const kind of ['read', 'write']) {
			const [asked] = ask(`from block_part where path ~ "**/direct" && disk == "${disk}" && kind == ${kind} | sum(bytes) as b`, 'disk.trace').rows;
			const sum = all.filter((r) => r.disk === disk && r.file?.endsWith('/direct')).reduce((s, r) => s + (kind === 'read' ? r.read : r.written), 0);
			equal(sum, asked.b, `bytes of ${kind}`);
			if (!(sum > 32 * 65536)) throw new Error(`${sum} bytes of ${kind}`);
		}
		await page.getByRole('button', { name: new RegExp('direct$') }).first().waitFor();
	});

	await test('a call that waited for the disk has its layers and its requests', async () => {
		const [call] = ask('where io_device > 0 | select row_id, dur, cpu_time, io_device, io_wait | sort io_device desc | head 1', 'disk.trace').rows;
		await page.goto(view(url, `?page=timeline&row=${call.row_id}`));
		const bar = page.getByLabel(/^Where the call's time went/);
		await bar.waitFor();
		const said = await bar.getAttribute('aria-label');
		for (const name of ['in a device', 'on a CPU']) if (!said.includes(name)) throw new Error(`${said} lacks ${name}`);
		await bar.locator('.thin').first().waitFor();
		await rest(page);
	});

	await test('the layers over time', async () => {
		await page.goto(view(url, '?page=latency'));
		await page.getByLabel('call time by layer').waitFor();
		await rest(page);
		await page.getByText('in a device').first().waitFor();
	});
	await context.close();
	await stop(child);
}

async function none(browser) {
	run('record', '-q', '-o', 'plain.trace', '--', 'true');
	const { child, url } = await serve('plain.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));

	await test('a trace without requests says how to record them', async () => {
		await page.goto(view(url, '?page=disks'));
		await page.getByText('weir record --with block').waitFor();
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		equal(await page.getByLabel('call time by layer').count(), 0, 'charts of layers');
	});
	await stop(child);
}

await main(async (browser) => {
	let can = process.getuid() === 0;
	if (can) {
		const file = join(dir, 'direct');
		run('record', '-q', '--with', 'phases,block', '-o', 'disk.trace', '--', 'sh', '-c', `dd if=/dev/zero of=${file} bs=64k count=64 oflag=direct 2>/dev/null && dd if=${file} of=/dev/null bs=16k iflag=direct 2>/dev/null && rm ${file}`);
		can = JSON.parse(run('disks', '--json', 'disk.trace')).rows.length > 0;
	}
	if (can) await recorded(browser);
	else skipped('the page of disks of a recording', 'needs root, and a disk under the folder for temporary files');
	if (process.getuid() === 0) await none(browser);
});
