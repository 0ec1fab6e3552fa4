// SPDX-License-Identifier: Apache-2.0
// requests.mjs WEIR ROOT MARK: the page of requests over the made-up trace of tests/spans/screens.py. What it shows is compared with
// `weir requests`. With WEIR_SHOTS=FOLDER it keeps pictures there.

import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { dir, equal, main, newPage, rest, root, run, serve, stop, test, view } from './common.mjs';

const mark = resolve(process.argv[4]);
const digits = (text) => Number(String(text).replace(/[^\d.]/g, ''));

async function shot(what, name) {
	if (process.env.WEIR_SHOTS) await what.screenshot({ path: join(process.env.WEIR_SHOTS, `${name}.png`) });
}

await main(async (browser) => {
	const story = execFileSync('python3', [join(root, 'tests/spans/screens.py'), '.', '.', '.', '--story'], { maxBuffer: 1 << 28 });
	execFileSync(mark, ['-', 'shop.trace'], { cwd: dir, input: story });
	const { child, url } = await serve('shop.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
	const page = await newPage(context);
	const names = JSON.parse(run('requests', '--json', 'shop.trace')).rows;
	const log = JSON.parse(run('requests', '--log', '--json', 'shop.trace')).rows;

	await test('the page of requests says what weir requests says', async () => {
		await page.goto(view(url, '?page=requests'));
		await page.getByLabel('requests by time and duration').waitFor();
		await rest(page);
		const rows = page.locator('table', { has: page.getByText('Requests', { exact: true }) }).locator('tbody tr');
		const want = names.filter((r) => !r.part);
		equal(await rows.count(), want.length, 'names');
		equal(digits(await rows.first().locator('td').nth(1).innerText()), want[0].count, 'requests of the first name');
		equal(await page.locator('svg circle').count(), log.length, 'dots');
		await shot(page, 'requests');
	});

	await test('a name: its requests, and the slowest against the median', async () => {
		await page.getByRole('button', { name: 'checkout' }).first().click();
		await page.getByText('Slowest 1 % against the median').waitFor();
		await rest(page);
		equal(await page.locator('svg circle').count(), log.filter((r) => r.name === 'checkout').length, 'dots');
	});

	await test('the slowest opens as a tree', async () => {
		const slowest = page.locator('table', { has: page.getByText('The slowest', { exact: true }) }).locator('tbody tr').first();
		await slowest.getByRole('button', { name: 'checkout' }).click();
		await page.locator('table.tree tr').first().waitFor();
		await rest(page);
		const tree = JSON.parse(run('requests', '--name', 'checkout', '--tree', 'slowest', '--json', 'shop.trace')).rows;
		equal(await page.locator('table.tree tr').count(), tree.length, 'lines');
		equal(await page.locator('table.tree tr td.name').allInnerTexts(), tree.map((l) => l.name), 'names');
		await shot(page.getByLabel('one request'), 'request');
	});

	await test('the critical path, where it leads over several threads', async () => {
		const doc = JSON.parse(run('requests', '--name', 'checkout', '--tree', 'slowest', '--json', 'shop.trace'));
		equal(await page.locator('table.tree i.critical').count(), doc.rows.filter((l) => l.critical > 0).length, 'lines on it');
		const said = await page.locator('p.path').innerText();
		for (const t of new Set(doc.tables.path.rows.map((r) => r.thread))) equal(said.includes(t), true, t);
	});

	await test('two requests side by side', async () => {
		await page.getByRole('button', { name: 'compare with a typical one' }).click();
		await page.getByText('What they did').waitFor();
		await rest(page);
		const two = page.getByLabel('two requests');
		equal(await two.locator('p', { hasText: 'first' }).count(), 1, 'first');
		const rows = two.locator('table', { has: page.getByText('How they spent their time') }).locator('tbody tr');
		const slowest = log.find((r) => r.name === 'checkout');
		const parts = await rows.locator('td:first-child').allInnerTexts();
		equal(parts.includes('data') && parts.includes('lock') && slowest.lock > 0, true, 'parts of the slowest');
		await shot(two, 'two');
		await page.getByRole('button', { name: 'compare with another' }).click();
		await page.getByRole('button', { name: 'select the other one above' }).waitFor();
		const third = page.locator('table', { has: page.getByText('The slowest', { exact: true }) }).locator('tbody tr').nth(2);
		await third.getByRole('button', { name: 'checkout' }).click();
		await rest(page);
		equal((await two.locator('p', { hasText: 'second' }).innerText()).includes(log.filter((r) => r.name === 'checkout')[2].span_id), true, 'the one that was chosen');
	});

	await test('groups by where the time went', async () => {
		const doc = JSON.parse(run('requests', '--name', 'checkout', '--clusters', '--json', 'shop.trace'));
		const groups = page.getByLabel('groups of requests');
		equal(await groups.locator('table').first().locator('tbody tr').count(), doc.rows.length, 'groups');
		equal(digits(await groups.locator('table').first().locator('tbody tr').first().locator('td').nth(1).innerText()), doc.rows[0].count, 'of the first');
		await shot(groups, 'groups');
		await groups.locator('tbody tr').first().getByRole('button').click();
		await rest(page);
		equal(await page.getByLabel('one request').locator('h2').innerText().then((t) => t.includes(doc.rows[0].typical_id)), true, 'a typical one opens');
	});

	await test('the heat map has every request, and a click opens the slowest of a cell', async () => {
		await page.goto(view(url, '?page=requests&name=checkout'));
		const chart = page.getByLabel('durations of requests over time');
		await chart.waitFor();
		await rest(page);
		const cells = JSON.parse(run('requests', '--name', 'checkout', '--heat', '--json', 'shop.trace')).rows;
		equal(cells.reduce((n, c) => n + c.count, 0), log.filter((r) => r.name === 'checkout').length, 'requests');
		const most = cells.reduce((a, b) => (a.slowest > b.slowest ? a : b));
		const box = await chart.boundingBox();
		// where the slowest is: look for it column by column, in the upper part
		let opened = false;
		for (let x = box.x + box.width - 12; x > box.x + 60 && !opened; x -= 3) {
			for (let y = box.y + 24; y < box.y + 44 && !opened; y += 4) {
				await page.mouse.click(x, y);
				opened = await page.locator('table.tree tr').first().isVisible();
			}
		}
		await page.locator('table.tree tr').first().waitFor();
		await rest(page);
		equal((await page.getByLabel('one request').locator('h2').innerText()).includes(most.span_id), true, 'the slowest of all, in the last of the upper cells');
		await shot(page, 'heat');
	});

	await test('a click on a dot opens it', async () => {
		await page.goto(view(url, '?page=requests&name=checkout'));
		const dots = page.locator('svg circle');
		await dots.first().waitFor();
		await rest(page);
		const box = await dots.nth(100).boundingBox();
		await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2);
		await page.locator('table.tree tr').first().waitFor();
		await rest(page);
	});

	await test('periods that were kept are requests, also in a trace without spans', async () => {
		run('synth', '-q', '-o', 'periods.trace', '--rows', '5000', '--profile', 'redis');
		run('periods', '--keep', '-i', 'periods.trace', 'each : enter op == write : op == write && end.tid == begin.tid');
		const { rows } = JSON.parse(run('requests', '--json', 'periods.trace'));
		const kept = await serve('periods.trace');
		await page.goto(view(kept.url, '?page=requests'));
		await page.getByLabel('requests by time and duration').waitFor();
		await rest(page);
		const first = page.locator('table', { has: page.getByText('Requests', { exact: true }) }).locator('tbody tr').first();
		equal(digits(await first.locator('td').nth(1).innerText()), rows[0].count, 'requests');
		// their numbers exceed what JavaScript counts exactly
		const groups = JSON.parse(run('requests', '--clusters', '--name', 'each', '--json', 'periods.trace')).rows;
		await first.getByRole('button', { name: 'each' }).click();
		const typical = page.getByLabel('groups of requests').locator('tbody tr').first().getByRole('button');
		await typical.waitFor();
		await rest(page);
		equal(await typical.innerText(), groups[0].typical_id, 'the typical request');
		await typical.click();
		await page.locator('table.tree tr').first().waitFor();
		equal((await page.getByLabel('one request').locator('h2').innerText()).includes(groups[0].typical_id), true, 'which opens');
		await stop(kept.child);
	});

	await context.close();
	await stop(child);
});
