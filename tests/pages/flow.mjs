// SPDX-License-Identifier: Apache-2.0
// flow.mjs WEIR ROOT: the page of what became of the bytes, over a recorded pipeline. What it shows is compared with `weir flow`.

import { equal, main, newPage, rest, run, serve, skipped, stop, test, view } from './common.mjs';

const digits = (text) => Number(String(text).replace(/[^\d]/g, ''));

async function recorded(browser) {
	const { child, url } = await serve('pipe.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
	const want = JSON.parse(run('flow', '--json', '--list', 'pipe.trace'));
	const picture = page.getByLabel(/^what happened because of what/);
	const said = async () => (await picture.getAttribute('aria-label')).match(/\d+/g).map(Number);
	const list = want.tables.list.rows;
	const lanes = new Set(list.flatMap((e) => [e.from_process, e.to_process]));

	await test('the page has the edges of weir flow', async () => {
		await page.goto(view(url, '?page=flow'));
		await picture.waitFor();
		await rest(page);
		equal(list.length, want.edges, 'edges in the list');
		equal(await said(), [lanes.size, want.edges], 'lanes and arrows');
		for (const r of want.tables.edges.rows) equal(digits(await page.locator('label', { hasText: r.via }).locator('span').innerText()), r.certain, r.via);
		await page.getByText('Nothing was altered').waitFor();
	});

	await test('a reason that is not wanted is not drawn', async () => {
		const pipes = list.filter((e) => e.via === 'pipe').length;
		if (!(pipes > 0)) throw new Error('no edge of a pipe');
		await page.getByLabel(/^pipe/).uncheck();
		equal((await said())[1], want.edges - pipes, 'arrows without pipes');
		await page.getByLabel(/^pipe/).check();
		equal((await said())[1], want.edges, 'all again');
	});

	await test('the arrow under the pointer is named, by time and by order', async () => {
		for (const logical of [false, true]) {
			await page.getByLabel('by order instead of time').setChecked(logical);
			const box = await picture.boundingBox();
			let named = '';
			for (let x = 200; x < box.width && !named; x += 3) {
				for (let y = 20; y < box.height - 20 && !named; y += 6) {
					await page.mouse.move(box.x + x, box.y + y);
					const text = await page.locator('p.near').innerText();
					if (text.includes(' led to ')) named = text;
				}
			}
			if (!list.some((e) => named.startsWith(e.via))) throw new Error(`it says ${JSON.stringify(named)}`);
		}
	});

	await test('it is played and shown whole again', async () => {
		await page.getByRole('button', { name: 'play' }).click();
		await page.getByRole('button', { name: 'show all' }).click();
		equal(await page.getByRole('button', { name: 'show all' }).count(), 0, 'buttons');
	});
	await stop(child);
}

await main(async (browser) => {
	if (process.getuid() !== 0) return skipped('the page of what became of the bytes', 'needs root');
	run('record', '-q', '--content', '-o', 'pipe.trace', '--', 'sh', '-c', 'head -c 300000 /dev/zero | cat | wc -c >out; cat out');
	await recorded(browser);
});
