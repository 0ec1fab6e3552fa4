// SPDX-License-Identifier: Apache-2.0
// findings.mjs WEIR ROOT: the page of findings over a recording of a program with many small writes, and a trace in which nothing is
// wrong. What it shows is compared with `weir diagnose --json`.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ask, dir, equal, inAddress, main, newPage, rest, run, serve, stop, test, view } from './common.mjs';

const CALLS = 20000; // much more than what the start of Python costs, also on a busy machine
const SMALL_WRITES = `
import os
f = os.open('small.log', os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
for i in range(${CALLS}):
    os.write(f, b'a line of the log\\n')
`;
const diagnose = (trace) => JSON.parse(run('diagnose', '--json', trace));
const navigation = (page, name) => page.getByRole('navigation').getByRole('button', { name });

/** A trace with a finding: the way from the sentence to the calls. */
async function found(browser) {
	const { child, url } = await serve('small.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	let card;
	let finding;
	let total;

	await test('where something is wrong, that is the first page', async () => {
		await page.goto(url);
		await page.getByRole('heading', { name: /finding/ }).waitFor();
		equal(await inAddress(page, 'page'), 'findings', 'page');
		const want = diagnose('small.trace'); // after the page: it has made the features
		finding = want.rows.find((r) => r.rule === 'small-writes' && r.path?.endsWith('/small.log'));
		equal(finding?.calls, CALLS, 'calls that weir diagnose finds');
		total = want.rows.length;
		equal(await page.getByRole('article').count(), total, 'cards');
		equal(await navigation(page, 'Findings').innerText(), `Findings${total}`, 'in the navigation');
		await page.getByText(`${want.rules} rules ran`).waitFor();
	});

	await test('a card says what weir diagnose says, and shows where', async () => {
		card = page.getByRole('article', { name: finding.sentence });
		await card.getByRole('heading', { name: finding.sentence }).waitFor();
		for (const text of [finding.evidence, finding.change, finding.query]) await card.getByText(text, { exact: true }).waitFor();
		await card.getByLabel('position in the file over time').waitFor();
	});

	await test('one click to the calls, and back', async () => {
		await card.getByRole('button', { name: 'the calls' }).click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get('page') === 'explore');
		equal(await inAddress(page, 'q'), finding.query, 'question');
		const rows = ask(finding.query, 'small.trace').rows.length;
		await page.getByRole('status').getByText(`${rows} row`).waitFor();
		await rest(page);
		equal(await page.getByRole('alert').filter({ hasText: /./ }).count(), 0, 'errors');
		await page.goBack();
		await card.waitFor();
	});

	await test('the timeline shows its time and its calls', async () => {
		await card.getByRole('button', { name: 'timeline' }).click();
		await page.getByLabel('Calls of each thread over time').waitFor();
		const [from, to] = [Number(await inAddress(page, 'from')), Number(await inAddress(page, 'to'))];
		if (!(from <= finding.start && to >= finding.stop)) throw new Error(`${from}..${to} for ${finding.start}..${finding.stop}`);
		equal(await page.getByRole('combobox', { name: 'Filter' }).inputValue(), finding.query.replace('where ', '').split(' | ')[0], 'filter');
		await page.goBack();
		await card.waitFor();
	});

	await test('the file has its page', async () => {
		await card.getByRole('button', { name: 'the file' }).click();
		await page.getByText('What was done', { exact: true }).waitFor();
		equal(await inAddress(page, 'file'), finding.file_id, 'file');
		await page.getByText('small.log').first().waitFor();
		await page.goBack();
		await card.waitFor();
	});

	await test('who wants the overview gets it, and keeps it when it is loaded again', async () => {
		await navigation(page, 'Overview').click();
		await page.getByText('Operations').waitFor();
		await page.reload();
		await page.getByText('Operations').waitFor();
		await navigation(page, 'Findings').filter({ hasText: /\d/ }).waitFor(); // what is wrong is known, and nothing moved
		equal(await inAddress(page, 'page'), 'overview', 'page');
		await page.goBack();
		await card.waitFor();
	});

	await test('of a part of the calls it says what is wrong there, and does not count that as all', async () => {
		await page.goto(view(url, '?page=findings&filter=op+%3D%3D+read'));
		await page.getByText('rules ran').waitFor();
		equal(await card.count(), 0, 'of reads, cards about writes');
		await navigation(page, 'Findings').filter({ hasText: `Findings${total}` }).waitFor();
	});
	await context.close();
	await stop(child);
}

/** A trace without: nothing moves. */
async function healthy(browser) {
	const { child, url } = await serve('healthy.trace');
	const page = await newPage(await browser.newContext());
	await test('where nothing is wrong the overview is the first page', async () => {
		const answer = page.waitForResponse(/analysis\/diagnose/);
		await page.goto(url);
		equal((await (await answer).json()).rows.length, 0, 'findings');
		await page.getByText('Operations').waitFor();
		await rest(page);
		equal(await inAddress(page, 'page'), null, 'page');
		equal(await navigation(page, 'Findings').innerText(), 'Findings', 'in the navigation');
	});
	await test('its page of findings says how many rules ran', async () => {
		await page.goto(view(url, '?page=findings'));
		await page.getByRole('heading', { name: 'No findings' }).waitFor();
		await page.getByText(`${diagnose('healthy.trace').rules} rules ran`).waitFor();
		equal(await page.getByRole('article').count(), 0, 'cards');
	});
	await test('it says how to record what rules need, in words that weir record takes', async () => {
		const [, words] = /--with (\S+) records/.exec(await page.getByText('records what they need').textContent());
		run('record', '-q', '--with', words, '-o', 'needs.trace', '--', 'true');
		await page.getByText(/span-outliers.*weir periods --keep/).waitFor();
	});
	await page.context().close();
	await stop(child);
}

await main(async (browser) => {
	writeFileSync(join(dir, 'small.py'), SMALL_WRITES);
	run('record', '-q', '-o', 'small.trace', '--', 'python3', 'small.py');
	run('synth', '-q', '-o', 'healthy.trace', '--rows', '300'); // so few calls cost nothing; a recording would find other recorders
	await found(browser);
	await healthy(browser);
});
