// SPDX-License-Identifier: Apache-2.0
// pages.mjs WEIR ROOT: drives every page of `weir serve` in a real browser, over a synthetic trace, a recorded one with
// hostile names, and one that grows. What a page shows is compared with `weir query`. Speaks TAP.

import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { ask, children, dir, equal, inAddress, main, newPage, problems, rest, run, serve, skipped, stop, test, view, weir } from './common.mjs';

const digits = (text) => Number(String(text).replace(/[^\d.]/g, ''));
const tile = async (page, word) => digits(await page.locator('[aria-label=Totals] div', { hasText: word }).locator('b').first().textContent());
const rateTile = (page) => page.locator('[aria-label=Totals] div', { hasText: 'calls' }).locator('.quiet').first().textContent();
/** A rate of some thousands as pages print it. */
const told = (r) => `${(r / 1e3).toPrecision(3)} k/s`;

/** A number as the legend of a chart has it: of tens of thousands so many thousands. */
const asLegend = (n) => (n >= 1e4 ? Number((n / 1e3).toPrecision(3)) : n);

async function synthetic(browser) {
	run('synth', '-q', '-o', 'synth.trace', '--rows', '70000', '--seed', '11');
	const { child, url } = await serve('synth.trace');
	const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, timezoneId: 'Asia/Kolkata' });
	const page = await newPage(context);
	const finished = 'stop is not null';
	await page.goto(view(url, '?page=overview'));

	await test('the overview tells what weir query tells', async () => {
		await page.getByText('Operations').waitFor();
		const [all] = ask('count() as n, countif(err is not null) as bad, rate() as r', 'synth.trace').rows;
		equal(await tile(page, 'calls'), all.n, 'calls');
		equal(digits(await page.locator('header .who').getByText(/calls$/).textContent()), all.n, 'calls in the head');
		equal(await rateTile(page), told(all.r), 'calls a second');
		equal(await tile(page, 'failed'), all.bad, 'failed');
		const ops = ask(`${finished} && class in (data, meta, sync, net) | by op | sum(dur) as t, count() as n | sort t desc | head 1`, 'synth.trace').rows[0];
		const row = page.locator('table', { has: page.getByText('Operations', { exact: true }) }).locator('tbody tr', { hasText: ops.op }).first();
		equal(digits(await row.locator('td').nth(1).textContent()), ops.n, `calls of ${ops.op}`);
	});

	await test('times are those of the commands, wherever the browser is', async () => {
		const when = /(\d+ \w+)(?: \d{4})? (\d\d:\d\d:\d\d)\.\d+ ([-+]\d{4})/;
		const shown = when.exec(await page.getByText(/^from /).first().textContent());
		equal(shown?.slice(1), when.exec(run('query', 'min(start)', 'synth.trace'))?.slice(1), 'the beginning');
	});

	await test('the rate of a range is that of weir query, however the chart divides it', async () => {
		await page.goto(view(url, '?from=100000000&to=101700123'));
		await page.getByText('Operations').waitFor();
		await rest(page);
		const [is] = ask('count() as n, rate() as r', '--from', '+0.1s', '--to', '+0.101700123s', 'synth.trace').rows;
		equal(await tile(page, 'calls'), is.n, 'calls');
		equal(await rateTile(page), told(is.r), 'calls a second');
		await page.goto(view(url, '?page=overview'));
		await page.getByText('Operations').waitFor();
	});

	await test('two clicks to the slowest call, its file and its neighbours', async () => {
		const slow = ask(`${finished} && class in (data, meta, sync, net) | select op, dur | sort dur desc | head 1`, 'synth.trace').rows[0];
		await page.locator('table', { has: page.getByText('Slowest', { exact: true }) }).locator('tbody tr').first().click();
		const call = page.getByRole('region', { name: 'Selected call' });
		await call.getByText(`${slow.dur.toLocaleString('en-US')} ns`).waitFor();
		equal(await call.locator('dd').nth(await call.locator('dt').allTextContents().then((t) => t.indexOf('op'))).innerText(), slow.op, 'operation');
		if ((await call.getByRole('listitem').count()) < 2) throw new Error('no neighbours');
		const file = call.getByRole('button', { name: 'its file' });
		if (await file.count()) {
			await file.click();
			await page.getByText('What was done', { exact: true }).waitFor();
		}
	});

	await test('a filter changes every number, and is in the address', async () => {
		await page.goto(view(url, '?page=overview'));
		const box = page.getByRole('combobox', { name: 'Filter' });
		await box.fill('op == read && dur > 10us');
		await box.press('Enter');
		const n = ask(`${finished} && op == read && dur > 10us | count() as n`, 'synth.trace').rows[0].n;
		await page.waitForFunction((want) => document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '') === String(want), n);
		equal(await inAddress(page, 'filter'), 'op == read && dur > 10us', 'filter in the address');
		await page.goBack();
		await page.waitForFunction((want) => document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '') !== String(want), n);
	});

	await test('a wrong filter is said where it is typed', async () => {
		const box = page.getByRole('combobox', { name: 'Filter' });
		await box.fill('opp == read');
		await box.press('Enter');
		await page.getByText('did you mean').waitFor();
		problems.length = 0; // the browser reports the 400 on its console
		await box.fill('');
		await box.press('Enter');
	});

	await test('dragging a range of time zooms; Escape shows all again', async () => {
		await page.goto(view(url, '?page=overview'));
		const chart = page.getByLabel('calls per second by operation');
		await chart.waitFor();
		await rest(page);
		const box = await chart.boundingBox();
		await page.mouse.move(box.x + box.width * 0.4, box.y + 50);
		await page.mouse.down();
		await page.mouse.move(box.x + box.width * 0.6, box.y + 60, { steps: 4 });
		await page.mouse.up();
		await page.getByRole('button', { name: 'whole trace' }).waitFor();
		const [from, to] = [Number(await inAddress(page, 'from')), Number(await inAddress(page, 'to'))];
		if (!(to > from)) throw new Error(`range ${from}..${to}`);
		await page.keyboard.press('Escape');
		await page.getByText('all of ').first().waitFor();
	});

	for (const [id, sign] of [
		['timeline', 'active threads only'],
		['files', 'folder or file'],
		['latency', 'Percentiles over time'],
		['explore', 'Enter a query'],
		['dashboards', 'A service'],
	])
		await test(`the page ${id} shows itself`, async () => {
			await page.goto(view(url, `?page=${id}`));
			await page.getByText(sign).first().waitFor();
			await page.waitForLoadState('networkidle');
		});

	await test('the timeline zooms by keys and chooses a call by a click', async () => {
		await page.goto(view(url, '?page=timeline'));
		await page.waitForLoadState('networkidle');
		const canvas = page.getByLabel('Calls of each thread over time');
		const box = await canvas.boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + 32);
		const shown = page.locator('footer .mono');
		const before = await shown.textContent();
		await page.keyboard.down('w');
		await page.waitForFunction((was) => document.querySelector('footer .mono').textContent !== was, before);
		await page.keyboard.up('w');
		await page.waitForFunction(() => new URL(location.href).searchParams.has('from'));
	});

	await test('explore answers as weir query does, and gives it as a file', async () => {
		const q = 'by op | count(), sum(bytes), p99(dur) | sort count desc | head 7';
		await page.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent(q)}`));
		await page.getByText('7 rows').waitFor();
		const want = ask(q, 'synth.trace').rows;
		const cells = await page.locator('table[aria-rowcount] tbody tr td:first-child').allTextContents();
		equal(cells.join(), want.map((r) => r.op).join(), 'operations');
		const counts = await page.locator('table[aria-rowcount] tbody tr td:nth-child(2)').allTextContents();
		equal(counts.map(digits).join(), want.map((r) => r.count).join(), 'counts');
		const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'csv' }).click()]);
		equal(readFileSync(await file.path(), 'utf8'), run('query', '--csv', q, 'synth.trace'), 'CSV');
	});

	await test('charts of explore show the numbers of weir query, whatever rows were grouped by', async () => {
		for (const q of ['by pid | count()', 'by log2(bytes) as size | count()', 'by ret | count() | head 20', 'by op, cpu | count(), sum(dur) as t | head 30']) {
			const { columns, rows } = ask(q, 'synth.trace');
			await page.goto(view(url, `?page=explore&chart=bars&q=${encodeURIComponent(q)}`));
			const bars = page.getByRole('list', { name: q }).getByRole('listitem');
			await bars.first().waitFor();
			const shown = rows.slice(0, 40);
			equal((await bars.locator('.number').allTextContents()).map(digits).join(), shown.map((r) => r.count).join(), q);
			const plain = columns.filter((c) => c.key && !c.unit);
			if (plain.length) equal((await bars.locator('.name').allTextContents()).map((t) => t.trim()).join(), shown.map((r) => plain.map((k) => r[k.name] ?? '–').join('  ')).join(), `names of ${q}`);
		}
		const q = 'by op, cpu every 50ms | count()';
		const sums = {};
		const rows = ask(q, 'synth.trace').rows.filter((r) => r.window !== null); // calls that did not end are in none
		for (const r of rows) sums[`${r.op} ${r.cpu}`] = (sums[`${r.op} ${r.cpu}`] ?? 0) + r.count;
		await page.goto(view(url, `?page=explore&q=${encodeURIComponent(q)}`));
		const chart = page.getByRole('img', { name: q });
		await chart.waitFor();
		await rest(page);
		const most = Object.values(sums).sort((a, b) => b - a).slice(0, 12);
		const names = (await chart.locator('.u-series .u-label').allTextContents()).slice(1);
		equal(names.map((n) => sums[n]).join(), most.join(), 'lines with most');
		await page.getByText(`12 of ${Object.keys(sums).length} lines`).waitFor();
		const box = await chart.locator('.u-over').boundingBox();
		await page.mouse.move(box.x + box.width * 0.5, box.y + 20);
		const values = chart.locator('.u-series .u-value');
		await values.first().filter({ hasText: / ms$/ }).waitFor(); // of a trace shorter than a second
		const at = parseFloat(await values.first().textContent()) * 1e6;
		const near = rows.map((r) => r.window).sort((a, b) => Math.abs(a - at) - Math.abs(b - at))[0];
		const then = new Map(rows.filter((r) => r.window === near).map((r) => [`${r.op} ${r.cpu}`, r.count]));
		equal((await values.allTextContents()).slice(1).map((v) => digits(v)).join(), names.map((n) => asLegend(then.get(n) ?? 0)).join(), 'of one window');
	});

	await test('who is in a cell of the heat map', async () => {
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		const map = page.getByLabel('calls by time and latency');
		const box = await map.boundingBox();
		// somewhere in the middle of time there is a cell that is not empty
		for (let y = box.height - 24; y > 8 && !(await inAddress(page, 'cell')); y -= 3) await map.click({ position: { x: box.width / 2, y } });
		const [from, to, low, high] = (await inAddress(page, 'cell')).split('_').map(Number);
		await page.getByText('Slowest calls').waitFor();
		await rest(page);
		const n = ask(`${finished} && class in (data, meta, sync, net) && dur >= ${low}ns && dur < ${high}ns | select stop`, 'synth.trace').rows.filter((r) => r.stop >= from && r.stop < to).length;
		const counts = await page.locator('table', { has: page.getByText('Operations', { exact: true }) }).locator('tbody tr td:nth-child(2)').allTextContents();
		equal(counts.map(digits).reduce((a, b) => a + b, 0), n, 'calls in the cell');
	});

	await test('latency is told apart by any column, as weir query does', async () => {
		const columns = page.getByLabel('Distribution by');
		for (const by of ['class', 'cpu', 'exe', 'fd']) {
			await columns.selectOption(by);
			await page.waitForFunction((b) => new URL(location.href).searchParams.get('by') === b, by);
			await rest(page);
			const want = ask(`!(status has unfinished) && class in (data, meta, sync, net) | by ${by} | count() as n, sum(dur) as t, max(dur) as most | sort t desc | head 1`, 'synth.trace').rows[0];
			const row = page.locator('table:not(.u-legend)', { has: page.getByText('p99.9', { exact: true }) }).locator('tbody tr').first();
			equal(await row.locator('td').first().innerText(), want[by] ?? 'none', by);
			equal(digits(await row.locator('td.number').first().textContent()), want.n, `calls by ${by}`);
			equal(await row.locator('path').count(), 1, 'picture');
		}
	});

	await test('SQL is answered too', async () => {
		await page.goto(view(url, `?page=explore&lang=sql&chart=table&q=${encodeURIComponent('SELECT count(*) AS n FROM op')}`));
		await page.getByText('1 row,').waitFor();
		equal(digits(await page.locator('table[aria-rowcount] tbody td').first().textContent()), ask('count() as n', 'synth.trace').rows[0].n, 'rows');
	});

	await test('a dashboard is saved beside the trace and found again', async () => {
		await page.goto(view(url, '?page=dashboards&name=service'));
		await page.getByText('Calls a second by class').waitFor();
		await page.waitForLoadState('networkidle');
		await page.getByRole('button', { name: 'edit' }).click();
		await page.getByRole('button', { name: 'save as ...' }).click();
		await page.getByRole('textbox', { name: 'Title', exact: true }).fill('mine');
		await page.getByRole('dialog').getByRole('button', { name: 'save' }).click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get('name') === 'mine');
		if (!existsSync(join(dir, 'synth.trace.dashboards/mine.json'))) throw new Error('no file beside the trace');
	});

	await test('its charts are moved, changed and kept', async () => {
		const kept = () => JSON.parse(readFileSync(join(dir, 'synth.trace.dashboards/mine.json'), 'utf8')).tiles;
		const before = kept();
		await page.getByRole('button', { name: 'edit' }).click();
		await page.getByRole('button', { name: `resize ${before[0].title}` }).press('ArrowDown');
		await page.getByRole('button', { name: 'add a chart' }).click();
		const editor = page.getByRole('group', { name: 'Change Calls by operation' });
		await editor.getByLabel('title').fill('New here');
		await page.getByRole('group', { name: 'Change New here' }).getByRole('button', { name: 'done' }).click();
		await page.getByRole('button', { name: 'save', exact: true }).click();
		await page.getByRole('button', { name: 'edit' }).waitFor();
		const after = kept();
		equal(after[0].h, before[0].h + 1, 'height');
		equal(after.at(-1).title, 'New here', 'title');
		await page.reload();
		await page.getByText('New here').waitFor();
		await rest(page);
	});

	await test('a dashboard declares its variables with defaults; its file has them, saved, exported and imported', async () => {
		const asked = [];
		const listen = (r) => r.url().includes('/query?') && asked.push(new URL(r.url()).searchParams.get('filter') ?? '');
		const all = ask('by process | count() as n', 'synth.trace').rows;
		const program = all[0].process.replace(/ \d+$/, '');
		page.on('request', listen);
		await page.getByRole('button', { name: 'edit' }).click();
		await page.getByLabel('default process').fill(program);
		await page.getByLabel('default process').press('Tab');
		await page.getByRole('checkbox', { name: 'folder' }).uncheck();
		await page.getByRole('button', { name: 'save', exact: true }).click();
		await page.getByRole('button', { name: 'edit' }).waitFor();
		const file = join(dir, 'synth.trace.dashboards/mine.json');
		const declared = [{ name: 'process', default: program }];
		equal(JSON.stringify(JSON.parse(readFileSync(file, 'utf8')).variables), JSON.stringify(declared), 'in the file');
		asked.length = 0;
		await page.reload();
		await page.getByText('New here').waitFor();
		await rest(page);
		equal(await page.getByLabel('process', { exact: true }).inputValue(), program, 'the default is chosen');
		equal(await page.getByLabel('folder', { exact: true }).count(), 0, 'variables that are not declared');
		equal(asked.at(-1), `process ~ "${program} *"`, 'filter of a chart');
		const those = all.filter((r) => r.process.startsWith(`${program} `)).reduce((sum, r) => sum + r.n, 0);
		equal(ask(`${asked.at(-1)} | count() as n`, 'synth.trace').rows[0].n, those, 'its calls');
		asked.length = 0;
		await page.getByLabel('process', { exact: true }).selectOption('');
		await page.waitForFunction(() => new URL(location.href).searchParams.get('process') === 'all');
		await rest(page);
		equal(asked.at(-1), '', 'no filter where all is chosen');
		page.off('request', listen);

		const waiting = page.waitForEvent('download');
		await page.getByRole('button', { name: 'download', exact: true }).click();
		const given = await (await waiting).path();
		equal(JSON.stringify(JSON.parse(readFileSync(given, 'utf8')).variables), JSON.stringify(declared), 'in the file that is given');
		await page.locator('input[type=file]').setInputFiles({ name: 'other.json', mimeType: 'application/json', buffer: readFileSync(given) });
		await page.waitForFunction(() => new URL(location.href).searchParams.get('name') === 'mine-2');
		equal(JSON.stringify(JSON.parse(readFileSync(join(dir, 'synth.trace.dashboards/mine-2.json'), 'utf8')).variables), JSON.stringify(declared), 'in the file that was opened');
		await rest(page);
	});

	await test('a call has a next of the same kind, by keys alone', async () => {
		await page.goto(view(url, '?page=timeline'));
		await rest(page);
		await page.keyboard.press('n'); // nothing is chosen: some call is
		const call = page.getByRole('region', { name: 'Selected call' });
		await call.getByLabel('What next and previous go by').selectOption('thread');
		const row = async () => Number(await inAddress(page, 'row'));
		await page.waitForFunction(() => new URL(location.href).searchParams.get('same') === 'thread');
		const first = await row();
		await page.locator('body').press('n');
		await page.waitForFunction((was) => Number(new URL(location.href).searchParams.get('row')) !== was, first);
		const second = await row();
		await page.keyboard.press('p');
		await page.waitForFunction((was) => Number(new URL(location.href).searchParams.get('row')) !== was, second);
		equal(await row(), first, 'there and back');
		await page.keyboard.press('Escape');
		await call.waitFor({ state: 'detached' });
	});

	await test('the wheel zooms every chart at once, back leads back', async () => {
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		const box = await page.getByLabel('calls by time and latency').boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + 40);
		await page.keyboard.down('Control');
		await page.mouse.wheel(0, -400);
		await page.keyboard.up('Control');
		await page.waitForFunction(() => new URL(location.href).searchParams.has('from'));
		await page.goBack();
		await page.waitForFunction(() => !new URL(location.href).searchParams.has('from'));
	});

	await test('a shared link shows the same view to who has it, nothing to who has not', async () => {
		const other = await (await browser.newContext()).newPage();
		await other.goto(view(url, '?page=latency&filter=op+%3D%3D+write'));
		await other.getByText('Percentiles over time').waitFor();
		equal(await other.getByRole('combobox', { name: 'Filter' }).inputValue(), 'op == write', 'filter');
		await other.context().close();
		const stranger = await (await browser.newContext()).newPage();
		await stranger.goto(url.split('#')[0]);
		await stranger.getByText('No trace').waitFor();
		await stranger.context().close();
	});

	await test('the link of a server that was started again is followed in a page that is open', async () => {
		const other = await newPage(await browser.newContext());
		await other.goto(view(url, '?page=overview').replace(/token=.*/, `token=${'0'.repeat(32)}`));
		await other.getByText('No trace').waitFor();
		await other.goto(view(url, '?page=overview'));
		await other.getByText('Operations').waitFor();
		problems.length = 0; // the browser reports the 401 on its console
		await other.context().close();
	});

	await test('help, keys, dark and light', async () => {
		await page.goto(view(url, '?page=overview'));
		await page.getByText('Operations').waitFor();
		await page.keyboard.press('?');
		await page.getByRole('heading', { name: 'Keys' }).waitFor();
		await page.keyboard.press('Escape');
		await page.getByRole('heading', { name: 'Keys' }).waitFor({ state: 'hidden' });
		const before = await page.evaluate(() => document.documentElement.dataset.theme);
		await page.keyboard.press('t');
		await page.waitForFunction((was) => document.documentElement.dataset.theme !== was, before);
		await page.keyboard.press('g');
		await page.keyboard.press('l');
		await page.getByText('Percentiles over time').waitFor();
	});
	await context.close();
	await stop(child);
}

/** Questions that are kept: beside the trace, or where that cannot be, in the browser. */
async function kept(browser) {
	run('synth', '-q', '-o', 'kept.trace', '--rows', '20000', '--seed', '5');
	const { child, url } = await serve('kept.trace');
	const files = join(dir, 'kept.trace.queries');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const explore = async (on, q) => {
		await on.goto('about:blank'); // the same address again would not be loaded
		await on.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent(q)}`));
		await on.getByRole('status').getByText('1 row,').waitFor();
		await rest(on);
	};
	const keepAs = async (title) => {
		await page.getByRole('button', { name: 'save ...' }).click();
		await page.getByRole('textbox', { name: 'name' }).fill(title);
		await page.getByRole('dialog').getByRole('button', { name: 'save' }).click();
	};
	const inBrowser = () => page.evaluate(() => Object.entries(localStorage).filter(([k]) => k.startsWith('weir-saved')));

	await test('what this browser kept before goes beside the trace, once', async () => {
		await page.goto(view(url, '?page=overview'));
		await page.evaluate(() => localStorage.setItem('weir-saved', JSON.stringify([{ title: '<i>Old</i>', q: 'count() as n', language: 'query' }, { title: 'Errors', q: 'head 1', language: 'query' }])));
		await explore(page, 'count() as n');
		await page.getByText('2 queries saved in this browser are now saved next to the trace').waitFor();
		await page.getByRole('button', { name: '<i>Old</i>', exact: true }).waitFor();
		equal(readdirSync(files).length, 2, 'files');
		equal((await inBrowser()).length, 0, 'left in the browser');
		await explore(page, 'count() as n');
		await page.getByRole('button', { name: '<i>Old</i>', exact: true }).waitFor();
		equal(readdirSync(files).length, 2, 'files the second time');
	});

	await test('a question is kept as a file and seen by others', async () => {
		await explore(page, 'count() as mine');
		await keepAs('../../My "question" <img src=x onerror=alert(1)>');
		const mine = page.getByRole('button', { name: '../../My "question" <img src=x onerror=alert(1)>', exact: true });
		await mine.waitFor();
		equal(readdirSync(files).length, 3, 'files');
		const other = await newPage(await browser.newContext());
		await explore(other, 'head 1');
		await other.getByRole('button', { name: '../../My "question" <img src=x onerror=alert(1)>', exact: true }).click();
		await other.waitForFunction(() => new URL(location.href).searchParams.get('q') === 'count() as mine');
		equal(await other.locator('img').count(), 0, 'images');
		await rest(other);
		await other.context().close();
		await page.getByRole('button', { name: 'delete ../../My' }).click();
		await mine.waitFor({ state: 'detached' });
		equal(readdirSync(files).length, 2, 'files when it is forgotten');
	});

	await test('where nothing can be kept beside the trace it is said, and the browser keeps it', async () => {
		rmSync(files, { recursive: true });
		writeFileSync(files, '');
		await explore(page, 'count() as here');
		await keepAs('Here alone');
		await page.getByText('saved in this browser only').waitFor();
		await explore(page, 'count() as here');
		await page.getByRole('button', { name: 'Here alone', exact: true }).waitFor();
		rmSync(files);
		await explore(page, 'count() as here');
		await page.getByText('a query saved in this browser is now saved next to the trace').waitFor();
		equal(readdirSync(files).join(), 'Here-alone.json', 'file, when it can be again');
		equal((await inBrowser()).length, 0, 'left in the browser');
	});
	await context.close();
	await stop(child);
}

/** A folder that is served while traces come into it. */
async function folder(browser) {
	mkdirSync(join(dir, 'many'));
	const bring = (name, seed) => {
		run('synth', '-q', '-o', name, '--rows', '5000', '--seed', seed);
		renameSync(join(dir, name), join(dir, 'many', name));
	};
	bring('first.trace', '1');
	const { child, url } = await serve('many');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	await test('traces that come into a folder are shown without a reload', async () => {
		await page.goto(view(url, '?page=overview'));
		await page.getByText('Operations').waitFor();
		const before = await tile(page, 'calls');
		await page.evaluate(() => (window.same = true));
		bring('second.trace', '2');
		await page.waitForFunction((n) => Number(document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '')) > n, before);
		await rest(page);
		equal(await page.evaluate(() => window.same), true, 'the page');
		equal(await tile(page, 'calls'), ask('count() as n', 'many').rows[0].n, 'calls');
		await page.getByText('10,000 calls', { exact: true }).waitFor();
		equal(await page.locator('header .command').textContent(), '2 traces', 'what the head says of them');
		equal(await page.getByText(/ CPUs$/).count(), 1, 'hosts');
	});
	await context.close();
	await stop(child);
}

/** Names and numbers that break careless readers, and losses of every cause. */
async function hostileTrace(browser) {
	run('synth', '-q', '-o', 'hostile.trace', '--rows', '20000', '--profile', 'hostile');
	const { child, url } = await serve('hostile.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const { events, causes } = ask('count()', 'hostile.trace').loss;
	await test('losses are said first, on every page', async () => {
		for (const id of ['overview', 'timeline', 'files', 'latency', 'explore', 'dashboards']) {
			await page.goto(view(url, `?page=${id}`));
			await page.getByText(`At least ${events.toLocaleString('en-US')} calls are missing`).waitFor();
			await rest(page);
		}
	});
	await test('rows that lack something are not counted as missing calls', async () => {
		await page.getByText('Some rows are incomplete').waitFor();
		await page.getByText(`${causes.path_cut} paths were truncated, ${causes.argument_unread} arguments could not be read`).waitFor();
	});
	await context.close();
	await stop(child);
}

/** Losses that cannot be made to happen: the server's answer, with these in it. */
async function otherLosses(browser) {
	run('synth', '-q', '-o', 'other.trace', '--rows', '2000');
	const { child, url } = await serve('other.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
	let loss;
	await page.route('**/api/v1/trace', async (route) => {
		const response = await route.fetch();
		await route.fulfill({ response, json: { ...(await response.json()), loss: { windows: [], ...loss } } });
	});
	const said = async (given) => {
		loss = given;
		await page.goto('about:blank');
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		return (await page.locator('p.loss').allInnerTexts()).map((t) => t.trim().replace(/\s+/g, ' ')).join('; ');
	};
	const of = (table, cause, rows, at_least, why) => ({ table, cause, why, rows, at_least });

	await test('rows missing from other tables are said with the reason, and are not missing calls', async () => {
		const beside = [of('sched', 'side_unseen', 1, false, 'not shown'), of('span', 'span_unread', 0, true, 'malformed')];
		const text = await said({ events: 0, causes: { side_unseen: 1, span_unread: 0 }, at_least: false, beside });
		equal(text, 'Rows of other tables are missing 1 row of sched (not shown), an unknown number of rows of span (malformed)', 'losses');
	});
	await test('an unknown number of missing calls is not called 0', async () => {
		equal(await said({ events: 0, causes: { ring_full: 0 }, at_least: true }), 'An unknown number of calls are missing ring full; the figures below do not include them', 'losses');
		equal(await said({ events: 1, causes: { ring_full: 1 }, at_least: false }), '1 call is missing ring full 1; the figures below do not include them', 'losses');
	});
	await page.close();
	await stop(child);
}

/** A trace that is damaged before and while it is shown. */
async function damaged(browser) {
	run('synth', '-q', '-o', 'hurt.trace', '--rows', '200000', '--seed', '5');
	const path = join(dir, 'hurt.trace');
	const data = readFileSync(path);
	const hurt = (at) => {
		data[at] ^= 1;
		const file = openSync(path, 'r+'); // in place: findings may have been appended meanwhile
		writeSync(file, data, at, 1, at);
		closeSync(file);
	};
	const calls = () => ask('count() as n', 'hurt.trace');
	hurt(data.length >> 1);
	const before = calls();
	if (!before.loss.events) throw new Error('no block of calls is damaged');
	const { child, url } = await serve('hurt.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const shown = (n) => page.waitForFunction((want) => document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '') === String(want), n);

	await test('damage is said on every page, and the figures are those of weir query', async () => {
		for (const id of ['timeline', 'files', 'latency', 'explore', 'dashboards', 'overview']) {
			await page.goto(view(url, `?page=${id}`));
			await page.getByText('The trace is damaged').waitFor();
			await page.getByText(`${before.loss.events.toLocaleString('en-US')} calls are missing`).waitFor();
			await rest(page);
		}
		await shown(before.rows[0].n);
		await page.getByText(`${before.rows[0].n.toLocaleString('en-US')} calls`, { exact: true }).waitFor();
	});
	await test('what is damaged while the page is open is said with the next answer, and changes the figures that are shown', async () => {
		hurt(data.length >> 2);
		const after = calls();
		if (after.rows[0].n >= before.rows[0].n) throw new Error('no other block of calls is damaged');
		// the server looks every second; a page that is seen again asks
		await page.waitForFunction(async (want) => {
			document.dispatchEvent(new Event('visibilitychange'));
			await new Promise((done) => setTimeout(done, 100));
			return document.body.textContent.includes(`${want} calls are missing`);
		}, after.loss.events.toLocaleString('en-US'));
		await shown(after.rows[0].n);
	});
	await test('a file that is deleted while it is shown is said to be', async () => {
		rmSync(path);
		await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
		await page.getByText('was deleted').waitFor();
		await page.getByText('gone once weir serve exits').waitFor();
	});
	await context.close();
	await stop(child);
}

async function failedRecording(browser) {
	try {
		run('record', '-q', '-o', 'failed.trace', '--', 'sh', '-c', 'for i in 1 2 3 4 5; do cat /etc/hostname > /dev/null; sleep 0.6; test $i != 3 || : > failed.trace; done');
	} catch (e) {
		if (e.status !== 1 || !existsSync(join(dir, 'failed.trace'))) {
			skipped('a recording that failed', `nothing can be recorded here: ${String(e.stderr ?? e.message).split('\n')[0]}`);
			return;
		}
	}
	const { child, url } = await serve('failed.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	await test('a recording that failed says so, when and why', async () => {
		const at = /RECORDING FAILED at (\d+ \w+ \d+:\d+:\d+)/.exec(run('report', 'failed.trace'));
		if (!at) throw new Error(`the report does not: ${run('report', 'failed.trace')}`);
		await page.goto(view(url, '?page=overview'));
		const said = page.locator('p[role=status]', { hasText: 'Recording failed' });
		await said.waitFor();
		const text = await said.textContent();
		for (const word of [/(\d+:\d+:\d+)/.exec(at[1])[1], 'another program truncated this file to 0 bytes']) {
			if (!text.includes(word)) throw new Error(`${word} is not in: ${text}`);
		}
	});
	await context.close();
	await stop(child);
}

async function recorded(browser) {
	const hostile = '<img src=x onerror=alert(1)>';
	const turned = 'a\u202etxt\n\u001b[31m.exe'; // reads like another where its marks are obeyed
	try {
		writeFileSync(join(dir, 'work.sh'), `cd ${dir}; for i in 1 2 3; do echo $i > '${hostile}'; cat '${hostile}' > /dev/null; done; echo > '${turned}'; sleep 0.1\n`);
		run('record', '-q', '-o', 'real.trace', '--', 'sh', 'work.sh');
	} catch (e) {
		skipped('hostile names', `nothing can be recorded here: ${String(e.stderr ?? e.message).split('\n')[0]}`);
		return;
	}
	const { child, url } = await serve('real.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	await test('script in a file name stays a name', async () => {
		for (const id of ['overview', 'timeline', 'files', 'latency']) {
			await page.goto(view(url, `?page=${id}`));
			await page.waitForLoadState('networkidle');
		}
		await page.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent('by path | count()')}`));
		await page.getByText(hostile).first().waitFor();
		equal(await page.locator('img').count(), 0, 'images');
	});
	await test('what cannot be seen in a name is written out', async () => {
		const written = 'a\\u202etxt\\n\\u001b[31m.exe';
		await page.getByText(written).first().waitFor();
		const id = ask(`file ~ "*.exe" && op ~ "open*" | by id(file) as id | count()`, 'real.trace').rows[0].id;
		await page.goto(view(url, `?page=files&file=${id}`));
		await page.getByRole('heading', { name: written }).waitFor();
	});
	await test('a file that a link names is shown where it stands, and who used it by the name they had last', async () => {
		const id = ask(`comm == "cat" && op == read && path ~ "*onerror*" | by id(file) as id | count()`, 'real.trace').rows[0].id;
		await page.goto(view(url, `?page=files&file=${id}`));
		await page.locator('table[aria-label=Files] tr.here', { hasText: hostile }).waitFor();
		const users = page.locator('table', { has: page.getByText('What was done', { exact: true }) });
		equal(await users.locator('tbody tr', { hasText: 'read' }).first().locator('td').nth(1).innerText(), 'cat', 'who read it');
	});
	await context.close();
	await stop(child);

	const recorder = spawn(weir, ['record', '-q', '-o', 'live.trace', '--', 'sh', '-c', 'sleep 30 & while :; do cat /etc/hostname > /dev/null; sleep 0.05; done'], { cwd: dir, stdio: 'ignore' });
	children.add(recorder);
	const begun = () => {
		try {
			return ask('count() as n', 'live.trace').rows[0].n > 0;
		} catch {
			return false; // not there yet, or without its head
		}
	};
	while (!begun()) await new Promise((r) => setTimeout(r, 100));
	const live = await serve('live.trace');
	const second = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const grows = await newPage(second);
	await test('a recording that goes on is followed', async () => {
		await grows.goto(live.url);
		await grows.getByText('live', { exact: true }).waitFor();
		await grows.getByText('Operations').waitFor();
		const before = await tile(grows, 'calls');
		await grows.waitForFunction((n) => Number(document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '')) > n, before);
	});
	await test('a call that does not return grows', async () => {
		const blocked = grows.getByRole('region', { name: 'Calls that have not returned' }).locator('tbody tr').first();
		await blocked.waitFor();
		const before = await blocked.innerText();
		await grows.waitForFunction((was) => (document.querySelector('section[aria-label="Calls that have not returned"] tbody tr')?.innerText ?? was) !== was, before);
	});
	await test('paused, what is shown stays; it goes on with what came', async () => {
		await grows.getByRole('button', { name: 'pause' }).click();
		await rest(grows);
		const before = await tile(grows, 'calls');
		await grows.getByText('calls since').waitFor();
		equal(await tile(grows, 'calls'), before, 'calls while it is paused');
		await grows.getByRole('button', { name: 'resume' }).click();
		await grows.waitForFunction((n) => Number(document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '')) > n, before);
	});
	await test('the end of it is followed, until another range is wanted', async () => {
		await grows.getByLabel('Follow the end').selectOption('last 1 s');
		const from = () => grows.evaluate(() => Number(new URL(location.href).searchParams.get('from')));
		const first = await from();
		await grows.waitForFunction((was) => Number(new URL(location.href).searchParams.get('from')) > was, first);
		await grows.getByRole('button', { name: 'whole trace' }).click();
		await grows.waitForFunction(() => document.querySelector('[aria-label="Follow the end"]').value === '');
	});
	await test('an answer that takes longer than the trace takes to grow arrives while its end is followed', async () => {
		await grows.goto(view(live.url, '?page=timeline'));
		await grows.getByText('live', { exact: true }).waitFor();
		await rest(grows);
		const lanes = (u) => u.pathname.endsWith('/lanes');
		const held = [];
		let dropped = 0;
		grows.on('requestfailed', (r) => (dropped += lanes(new URL(r.url()))));
		await grows.route(lanes, (route) => held.push(route));
		await grows.getByLabel('Follow the end').selectOption('last 1 s');
		while (!held.length) await new Promise((r) => setTimeout(r, 20));
		for (let i = 0; i < 3; i++) {
			const from = await inAddress(grows, 'from');
			await grows.waitForFunction((was) => new URL(location.href).searchParams.get('from') !== was, from);
		}
		equal(`${held.length} held, ${dropped} dropped`, '1 held, 0 dropped', 'requests');
		await held[0].continue();
		await grows.unroute(lanes);
		await grows.getByRole('button', { name: 'whole trace' }).click();
	});
	await test('findings of a recording that runs are those so far', async () => {
		await grows.goto(view(live.url, '?page=findings'));
		await grows.locator('h1', { hasText: /findings? .*so far/ }).waitFor();
	});
	await test('and its end is seen', async () => {
		recorder.kill('SIGINT');
		await new Promise((r) => recorder.once('exit', r));
		children.delete(recorder);
		await grows.getByText('live', { exact: true }).waitFor({ state: 'detached' });
	});
	await second.close();
	await stop(live.child);
}

async function restarted(browser) {
	run('synth', '-q', '-o', 'again.trace', '--rows', '2000');
	const first = await serve('again.trace');
	const port = new URL(first.url).port;
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const told = async (name) => {
		await page.getByLabel('Pages').getByRole('button', { name }).click();
		const text = await page.getByRole('alert').first().innerText();
		problems.length = 0; // the browser reports each failed request
		return text;
	};
	await test('a server that ended, and one that was started again, are told apart', async () => {
		await page.goto(first.url);
		await rest(page);
		await stop(first.child);
		const ended = await told('Latency');
		if (!ended.includes('does not respond')) throw new Error(ended);
		const second = await serve('again.trace', '--port', port);
		const again = await told('Disks');
		if (!again.includes('started again') || again.includes('exited')) throw new Error(again);
		await page.goto('about:blank');
		await page.goto(second.url);
		await rest(page);
		await stop(second.child);
	});
	await test('of a page that is kept up to date, without a click', async () => {
		mkdirSync(join(dir, 'kept-up'));
		run('synth', '-q', '-o', 'kept-up/one.trace', '--rows', '2000');
		const before = await serve('kept-up');
		await page.goto(before.url);
		await rest(page);
		await stop(before.child);
		await page.getByRole('alert').filter({ hasText: 'does not respond' }).first().waitFor(); // the page's answer may say so, too
		const after = await serve('kept-up', '--port', new URL(before.url).port);
		await page.getByRole('alert').filter({ hasText: 'started again' }).first().waitFor();
		problems.length = 0; // the browser reports each failed request
		await stop(after.child);
	});
	await context.close();
}

await main(async (browser) => {
	await synthetic(browser);
	await kept(browser);
	await folder(browser);
	await hostileTrace(browser);
	await otherLosses(browser);
	await damaged(browser);
	await failedRecording(browser);
	await recorded(browser);
	await restarted(browser);
});
