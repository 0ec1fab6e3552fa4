// SPDX-License-Identifier: Apache-2.0
// keys.mjs WEIR ROOT: the pages without a pointer: Tab reaches all that can be clicked, what has the focus is seen, and
// what a page is for can be done by keys alone. Downloads are opened again.

import { readFileSync } from 'node:fs';
import { ask, equal, inAddress, main, newPage, rest, run, serve, stop, test, view } from './common.mjs';

const MOST = 600; // steps of Tab; no page has so many

/** Walks through a page by Tab; what it did not reach, and where the focus was not seen. */
async function walk(page) {
	await page.evaluate(() => {
		const dialogs = (e) => e.closest('dialog');
		window.wanted = new Set([...document.querySelectorAll('button, a[href], select, input, textarea, [tabindex="0"]')].filter((e) => e.getClientRects().length && !e.disabled && e.tabIndex >= 0 && !dialogs(e)));
		window.unseen = [];
		window.look = () => {
			const e = document.activeElement;
			if (!e || e === document.body) return { within: false, left: window.wanted.size };
			window.wanted.delete(e);
			// a control that lies within its label may be told by it
			const of = e.matches('input[type=file]') ? e.closest('label') : e;
			const style = getComputedStyle(of);
			const box = of.getBoundingClientRect();
			const there = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
			const marked = (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || of !== e;
			const name = `${e.tagName} ${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 40)}`;
			if (!marked || style.visibility !== 'visible' || style.opacity === '0' || !there || !(of.contains(there) || there.contains(of))) window.unseen.push(name);
			return { within: true, left: window.wanted.size };
		};
	});
	for (let i = 0, outside = 0, left = 1; i < MOST && outside < 3 && left; i++) {
		await page.keyboard.press('Tab');
		const is = await page.evaluate(() => window.look());
		if (!is.within) outside++; // in the browser's own frame
		left = is.left;
	}
	return page.evaluate(() => ({ missed: [...window.wanted].map((e) => `${e.tagName} ${(e.getAttribute('aria-label') ?? e.textContent).trim().slice(0, 40)}`).join(', '), unseen: window.unseen.join(', ') }));
}

/** Tab until what has the focus is matched. */
async function tabTo(page, selector) {
	for (let i = 0; i < MOST; i++) {
		if (await page.evaluate((s) => document.activeElement?.matches(s) ?? false, selector)) return;
		await page.keyboard.press('Tab');
	}
	throw new Error(`Tab does not come to ${selector}`);
}

await main(async (browser) => {
	run('synth', '-q', '-o', 'keys.trace', '--rows', '40000', '--seed', '9');
	const { child, url } = await serve('keys.trace');
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	const file = ask('class == data && file_type == regular | by id(file) as id | sum(bytes) as n | sort n desc | head 1', 'keys.trace').rows[0].id;
	const row = async () => {
		const token = url.split('token=')[1];
		const answer = await fetch(`${new URL(url).origin}/api/v1/overview?width=10`, { headers: { Authorization: `Bearer ${token}` } });
		return (await answer.json()).slowest.rows[0].row;
	};
	for (const [id, search] of [
		['overview', '?page=overview'],
		['findings', '?page=findings'],
		['timeline with a call', `?page=timeline&row=${await row()}`],
		['files with a file', `?page=files&file=${file}`],
		['latency', '?page=latency'],
		['explore', `?page=explore&q=${encodeURIComponent('by op | count()')}`],
		['dashboards', '?page=dashboards&name=service'],
	])
		await test(`Tab reaches all of the page ${id}, and is seen there`, async () => {
			await page.goto('about:blank');
			await page.goto(view(url, search));
			await rest(page);
			const { missed, unseen } = await walk(page);
			equal(missed, '', 'not reached');
			equal(unseen, '', 'not seen');
		});

	await test('by keys alone: a folder is opened, a file chosen, and closed', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=files'));
		await rest(page);
		const lines = () => page.locator('table[aria-label=Files] tbody tr').count();
		while (!(await page.locator('td.name button.tail').count())) {
			const before = await lines();
			await tabTo(page, 'td.name button[aria-expanded=false]');
			await page.keyboard.press('Enter');
			await page.waitForFunction((n) => document.querySelectorAll('table[aria-label=Files] tbody tr').length > n, before);
		}
		await tabTo(page, 'td.name button.tail');
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => new URL(location.href).searchParams.has('file'));
		await page.getByText('What was done', { exact: true }).waitFor();
		await tabTo(page, '.one [aria-label=close]');
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => !new URL(location.href).searchParams.has('file'));
	});

	await test('by keys alone: who is in a cell of the heat map', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=latency'));
		await rest(page);
		await tabTo(page, 'canvas[aria-label="calls by time and latency"]');
		for (let i = 0; i < 100 && !(await inAddress(page, 'cell')); i++) {
			await page.keyboard.press(i < 50 ? 'ArrowDown' : 'ArrowUp');
			await page.keyboard.press('Enter');
		}
		await page.getByText('Slowest calls').waitFor();
	});

	await test('help opens, holds the focus and gives it back', async () => {
		await page.getByRole('button', { name: 'help' }).focus();
		await page.keyboard.press('Enter');
		await page.getByRole('heading', { name: 'Keys' }).waitFor();
		for (let i = 0; i < 4; i++) {
			await page.keyboard.press('Tab');
			const within = await page.evaluate(() => document.activeElement === document.body || document.activeElement.closest('dialog') !== null);
			equal(within, true, 'the focus within the dialog');
		}
		await page.keyboard.press('Escape');
		await page.getByRole('heading', { name: 'Keys' }).waitFor({ state: 'hidden' });
		equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'help', 'the focus afterwards');
	});

	await test('sockets that share an address are one line, with their sum', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=files'));
		await rest(page);
		const sockets = page.getByRole('button', { name: 'sockets/' });
		if ((await sockets.getAttribute('aria-expanded')) === 'false') await sockets.click();
		const group = page.getByRole('button', { name: /clients, .*connections\)/ }).first();
		await group.waitFor();
		const n = Number(/\(([0-9,]+) connections\)/.exec(await group.innerText())[1].replaceAll(',', ''));
		const line = page.locator('tr', { has: page.getByRole('button', { name: /clients, .*connections\)/ }) }).first();
		/** Calls of the lines behind the group's. */
		const below = () =>
			line.evaluate((tr) => {
				const found = [];
				for (let next = tr.nextElementSibling; next; next = next.nextElementSibling) if (next.cells.length > 1) found.push(Number(next.cells[1].textContent.replaceAll(',', '')));
				return found;
			});
		const sum = Number((await line.locator('td').nth(1).innerText()).replaceAll(',', ''));
		const closed = (await below()).length;
		await group.click();
		await page.waitForFunction((least) => document.querySelectorAll('table[aria-label=Files] tbody tr').length > least, closed + 1);
		const more = page.getByRole('button', { name: / more: show / });
		while (await more.count()) await more.first().click(); // of many lines the first are shown
		const members = (await below()).slice(0, n + 1); // the last may be the socket that listens
		const all = members.reduce((a, b) => a + b, 0);
		equal([all, all - members[n]].includes(sum), true, 'calls of the connections');

		// on the overview they are one row too, and its filter says the same
		await page.goto('about:blank');
		await page.goto(view(url, '?filter=class+%3D%3D+net'));
		await rest(page);
		const row = page.locator('table', { has: page.getByText('Files', { exact: true }) }).locator('tbody tr', { hasText: 'connections)' }).first();
		const shown = (await row.locator('td').nth(1).innerText()).replaceAll(',', '');
		await row.getByRole('button', { name: /connections\)/ }).click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get('filter').includes('->'));
		equal(shown, ask(`${await inAddress(page, 'filter')} && !(status has unfinished) | count() as n`, 'keys.trace').rows[0].n, 'calls of the address');
	});

	await test('what is downloaded can be read again, and says the same', async () => {
		const q = 'by op | count() as n, sum(bytes) as bytes | sort n desc';
		await page.goto('about:blank');
		await page.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent(q)}`));
		await rest(page);
		const want = ask(q, 'keys.trace').rows.map((r) => `${r.op} ${r.n} ${r.bytes}`).join('\n');
		const give = async (name) => {
			const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()]);
			return readFileSync(await file.path());
		};
		equal(JSON.parse(await give('json')).rows.map((r) => `${r.op} ${r.n} ${r.bytes}`).join('\n'), want, 'JSON');
		const csv = String(await give('csv')).trim().split(/\r?\n/).slice(1);
		equal(csv.map((l) => l.split(',').map((f) => f.replaceAll('"', '')).join(' ')).join('\n'), want, 'CSV');
		const parquet = await give('parquet');
		equal(parquet.subarray(0, 4), 'PAR1', 'its beginning');
		equal(parquet.subarray(-4), 'PAR1', 'its end');
	});
	await context.close();
	await stop(child);
});
