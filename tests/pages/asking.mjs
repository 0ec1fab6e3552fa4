// SPDX-License-Identifier: Apache-2.0
// asking.mjs WEIR ROOT: what the pages ask of the server, in which order, and what they do where an answer is late. Answers
// are held back by hand, so that no time matters.

import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { ask, dir, equal, main, newPage, problems, rest, run, serve, stop, test, view } from './common.mjs';

const digits = (text) => Number(text.replaceAll(',', ''));
const asked = (request) => decodeURIComponent(request.url().split('/api/v1/')[1] ?? '').replaceAll('+', ' ');

/** All that a page asks from now on. */
function listen(page) {
	const list = [];
	page.on('request', (r) => r.url().includes('/api/v1/') && list.push(asked(r)));
	return list;
}

/** Requests that `which` matches wait; let() sends the first of them on, or all that come from then on. */
async function hold(page, which) {
	const held = [];
	let open = false;
	let told = () => {};
	await page.route(
		(u) => which.test(decodeURIComponent(u.pathname + u.search).replaceAll('+', ' ')),
		async (route) => {
			if (open) return route.continue();
			held.push(route);
			told();
		},
	);
	return {
		held,
		/** Until so many were held, counting those that were let go. */
		async some(n, before = 0) {
			while (held.length + before < n) await new Promise((done) => (told = done));
		},
		one: () => held.shift().continue(),
		async all() {
			open = true;
			for (const route of held.splice(0)) await route.continue().catch(() => {}); // it may have been aborted
		},
	};
}

/** Frames and tasks of the page that were due are over. */
const settle = (page) =>
	page.evaluate(async () => {
		for (let i = 0; i < 5; i++) await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
	});

async function whole(browser) {
	run('synth', '-q', '-o', 'asked.trace', '--rows', '50000', '--seed', '3');
	const { child, url } = await serve('asked.trace');
	const file = ask('class == data && file_type == regular | by id(file) as id | sum(bytes) as n | sort n desc | head 1', 'asked.trace').rows[0].id;
	const fresh = async () => newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
	const q = 'by op | count()';

	for (const [name, search, wanted] of [
		['the overview', '?page=overview', [/^trace$/, /^overview\?.*brief=1/, /^overview\?(?!.*brief)/]],
		['the timeline', '?page=timeline', [/^trace$/, /^lanes/, /^timeline/, /^overview\?(?!.*from).*brief=1/]],
		['latency', '?page=latency', [/^trace$/, /^latency\?(?!.*by=)/, /^latency\?.*by=op/, /^query\?q=where class != wait && cpu_time/]],
		['a file', `?page=files&file=${file}`, [/^trace$/, /^files/, new RegExp(`^file/${file}(\\?|$)`), /density/]],
		['Explore', `?page=explore&q=${encodeURIComponent(q)}`, [/^trace$/, /^queries$/, /^query\?/]],
		['stacks that were not recorded', '?page=stacks', [/^trace$/]],
		['requests that are not marked', '?page=requests', [/^trace$/]],
		['a dashboard', '?page=dashboards&name=service', [/^trace$/, /^dashboards$/, /^dashboards\/service$/, /^query\?/]],
	])
		await test(`${name} asks once for what it shows, and for nothing else`, async () => {
			const page = await fresh();
			const list = listen(page);
			await page.goto(view(url, search));
			await rest(page);
			const twice = list.filter((a, i) => list.indexOf(a) !== i);
			equal(twice.join(', '), '', 'asked twice');
			for (const want of wanted) if (!list.some((a) => want.test(a))) throw new Error(`${want} is not among ${list.join(', ')}`);
			const background = /^analysis\/diagnose\?*$/; // for the count in the navigation
			const other = list.filter((a) => !background.test(a) && !wanted.some((want) => want.test(a)));
			equal(other.join(', '), '', 'asked besides');
			await page.context().close();
		});

	await test('figures that are seen first do not wait for the trace and the script of the page', async () => {
		const page = await fresh();
		const trace = await hold(page, /\/trace$/);
		const first = page.waitForRequest((r) => /brief=1/.test(r.url()));
		await page.goto(view(url, '?page=overview'));
		await trace.some(1);
		await first;
		await trace.all();
		await page.getByText('Operations').waitFor();
		await rest(page);
		await page.context().close();
	});

	await test('the whole overview is asked after the brief one, and does not hang on it', async () => {
		const page = await fresh();
		const brief = await hold(page, /overview\?.*brief=1/);
		const full = page.waitForResponse((r) => /overview\?(?!.*brief)/.test(r.url()));
		await page.goto(view(url, '?page=overview'));
		await brief.some(1);
		await full; // the brief answer is still on its way
		await page.getByText('Operations').waitFor();
		await brief.all();
		await rest(page);
		await page.context().close();
	});

	await test('figures of a part of the trace are told as such; the rest follows, and then the whole', async () => {
		const page = await fresh();
		const list = listen(page);
		let open;
		const gate = new Promise((done) => (open = done));
		let parts = 0;
		await page.route(
			(u) => u.searchParams.get('brief') === '1',
			async (route) => {
				const answer = await route.fetch();
				const body = await answer.json();
				if (parts++ === 0) body.read = 0.25;
				else await gate;
				await route.fulfill({ response: answer, json: body });
			},
		);
		await page.goto(view(url, '?filter=bytes%20%3E%20100'));
		const note = page.getByText(/figures cover 25 % of the trace so far/);
		await note.waitFor();
		await page.getByText('Operations').waitFor();
		await settle(page);
		const wholes = () => list.filter((r) => /^overview\?(?!.*brief)/.test(r)).length;
		equal(wholes(), 0, 'asked of the whole');
		open();
		await note.waitFor({ state: 'detached' });
		await rest(page);
		equal([parts, wholes()], [2, 1], 'brief ones, whole ones');
		await page.context().close();
	});

	await test('a dashboard asks two charts at a time, as they are read, and all in the end', async () => {
		const page = await fresh();
		const list = listen(page);
		const queries = await hold(page, /\/query\?/);
		await page.goto(view(url, '?page=dashboards&name=service'));
		const tiles = await (await page.waitForResponse((r) => r.url().endsWith('/dashboards/service'))).json().then((d) => d.tiles);
		const inOrder = [...tiles].sort((a, b) => a.y - b.y || a.x - b.x).map((t) => t.q.split('$window')[0]);
		for (let gone = 0; gone < inOrder.length - 2; gone++) {
			await queries.some(2);
			await settle(page);
			equal(queries.held.length, 2, 'under way');
			await queries.one();
		}
		await queries.all();
		await rest(page);
		const got = list.filter((a) => a.startsWith('query?')).map((a) => a.slice('query?q='.length));
		inOrder.forEach((q, i) => equal(got[i].startsWith(q), true, `question ${i}: ${got[i]}`));
		equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0, 'errors');
		await page.context().close();
	});

	await test('an answer that took too long is said, with no figures of another question, and asked for again', async () => {
		const page = await fresh();
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		const heat = page.getByLabel('calls by time and latency');
		await heat.waitFor();
		let late = true;
		await page.route(/\/latency\?/, (route) => (late ? route.fulfill({ status: 408, json: { error: { message: 'this took longer than allowed' } } }) : route.continue()));
		await page.getByRole('combobox', { name: 'Filter' }).fill('op == read');
		await page.getByRole('combobox', { name: 'Filter' }).press('Enter');
		const said = page.getByRole('alert').filter({ hasText: 'longer than allowed' }).first();
		await said.waitFor();
		await heat.waitFor({ state: 'detached' });
		problems.length = 0; // the browser reports the 408 on its console
		late = false;
		await said.getByRole('button', { name: 'try again' }).click();
		await heat.waitFor();
		await page.context().close();
	});

	await test('words that come after the filter was applied open no list', async () => {
		const page = await fresh();
		await page.goto(view(url, '?page=overview'));
		await rest(page);
		const words = await hold(page, /\/complete\?/);
		const box = page.getByRole('combobox', { name: 'Filter' });
		const came = page.waitForResponse(/\/complete\?/);
		await box.fill('op == read');
		await words.some(1);
		await box.press('Enter');
		await words.all();
		await came;
		await settle(page);
		equal(await page.getByRole('option').count(), 0, 'words');
		await box.press('End');
		await box.press('a'); // and those that are asked for later do
		await page.getByRole('option').first().waitFor();
		await page.context().close();
	});

	await test('an engine that is missing is said once, and asked for no more', async () => {
		const { WEIR_DUCKDB } = process.env;
		process.env.WEIR_DUCKDB = join(dir, 'none.so');
		const without = await serve('asked.trace');
		if (WEIR_DUCKDB) process.env.WEIR_DUCKDB = WEIR_DUCKDB;
		else delete process.env.WEIR_DUCKDB;
		const page = await fresh();
		const list = listen(page);
		const queries = () => list.filter((a) => a.startsWith('query?')).length;
		await page.goto(view(without.url, '?page=dashboards&name=service'));
		await page.getByRole('alert').filter({ hasText: 'DuckDB' }).waitFor();
		await rest(page);
		equal(await page.getByRole('alert').filter({ hasText: 'DuckDB' }).count(), 1, 'messages');
		const before = queries();
		equal(before <= 2, true, `${before} questions: two at once, then none`);
		await page.getByRole('button', { name: 'Storage engine' }).click();
		await page.getByText('needs DuckDB').first().waitFor();
		await rest(page);
		equal(queries(), before, 'questions of another dashboard');
		problems.length = 0; // the browser reports the 503 on its console
		await page.context().close();
		await stop(without.child);
	});

	await test('who goes away while much is asked gets the next page', async () => {
		const page = await fresh();
		const queries = await hold(page, /\/query\?/);
		await page.goto(view(url, '?page=dashboards&name=service'));
		await queries.some(2);
		await page.keyboard.press('g');
		await page.keyboard.press('o');
		await page.getByText('Operations').waitFor();
		await page.goBack();
		await queries.some(2, 2 - queries.held.length);
		await queries.all();
		await rest(page);
		equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0, 'errors');
		await page.context().close();
	});
	await stop(child);
}

/** A trace that grows while an answer is on its way. */
async function growing(browser) {
	mkdirSync(join(dir, 'grows'));
	const bring = (name, seed) => {
		run('synth', '-q', '-o', name, '--rows', '5000', '--seed', seed);
		renameSync(join(dir, name), join(dir, 'grows', name));
	};
	bring('first.trace', '1');
	const { child, url } = await serve('grows');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const calls = () => page.getByLabel('Totals').locator('div', { hasText: ' calls' }).locator('b').innerText().then(digits);

	await test('an answer that is slower than the trace grows is shown, and asked for again', async () => {
		const dropped = [];
		page.on('requestfailed', (r) => dropped.push(asked(r)));
		const full = await hold(page, /overview\?(?!.*brief)/);
		await page.goto(view(url, '?page=overview'));
		await full.some(1);
		bring('second.trace', '2');
		await page.getByText('10,000 calls', { exact: true }).waitFor(); // in the head: the page knows
		await settle(page);
		equal(dropped.filter((a) => a.startsWith('overview')).join(), '', 'dropped');
		await full.all();
		await page.getByLabel('Totals').getByText(ask('count() as n', 'grows').rows[0].n.toLocaleString('en-US')).waitFor();
		await rest(page);
		equal(await calls(), ask('count() as n', 'grows').rows[0].n, 'calls');
	});

	await test('what is typed in Explore stays while the trace grows, and the answer follows it', async () => {
		await page.unrouteAll({ behavior: 'wait' });
		await page.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent('count() as n')}`));
		const cell = page.locator('table[aria-rowcount] tbody td').first();
		await cell.filter({ hasText: '10,000' }).waitFor();
		const box = page.getByRole('combobox', { name: 'Question' });
		await box.fill('by op | count()');
		bring('third.trace', '3');
		await cell.filter({ hasText: '15,000' }).waitFor();
		equal(await box.inputValue(), 'by op | count()', 'the box');
		await box.press('Enter');
		await page.getByRole('list', { name: 'by op | count()' }).waitFor();
	});

	await test('more tabs than a browser has connections follow a trace, each when it is seen', async () => {
		const seen = (tab, is) =>
			tab.evaluate((visible) => {
				Object.defineProperty(document, 'hidden', { configurable: true, get: () => !visible });
				document.dispatchEvent(new Event('visibilitychange'));
			}, is);
		const tabs = [];
		for (let i = 0; i < 8; i++) {
			const tab = await newPage(context);
			await tab.goto(view(url, '?page=overview'));
			await tab.getByText('Operations').waitFor();
			await rest(tab);
			await seen(tab, false);
			tabs.push(tab);
		}
		bring('fourth.trace', '4');
		await seen(tabs[0], true);
		await tabs[0].getByText('20,000 calls', { exact: true }).waitFor();
		await tabs[7].getByText('15,000 calls', { exact: true }).waitFor();
		for (const tab of tabs) await tab.close();
	});
	await context.close();
	await stop(child);
}

await main(async (browser) => {
	await whole(browser);
	await growing(browser);
});
