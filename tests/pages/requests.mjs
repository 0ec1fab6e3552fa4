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
		await page.getByText('The slowest hundredth against the median').waitFor();
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

	await context.close();
	await stop(child);
});
