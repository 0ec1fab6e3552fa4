// SPDX-License-Identifier: Apache-2.0
// walk.mjs WEIR ROOT: the way that is gone most: from the overview to the slowest call, which is seen, to its file and its
// neighbours; an area of the timeline, whose sums are those of `weir query`; search, folding, pinning and moving of lanes.

import { ask, equal, inAddress, main, newPage, rest, run, serve, stop, test, view } from './common.mjs';

const TRACE = 'walk.trace';
const canvas = (page) => page.getByLabel('Calls of each thread over time');
const chosen = (page) => page.getByRole('region', { name: 'Selected call' });
const row = async (page) => Number(await inAddress(page, 'row'));
const digits = (text) => Number(text.replaceAll(',', ''));

/** What the server knows of a call. */
const caller = (url) => async (row) => {
	const answer = await fetch(`${new URL(url).origin}/api/v1/op/${row}`, { headers: { Authorization: `Bearer ${url.split('token=')[1]}` } });
	return (await answer.json()).call;
};

/** The chosen call is on the screen: its lane, within it an outline around its time, and nothing above it. */
async function seen(page, call) {
	await rest(page);
	const is = await page.evaluate(async ({ start, dur }) => {
		await new Promise((done) => setTimeout(done, 200)); // the range rests
		const lanes = document.querySelector('.lanes').getBoundingClientRect();
		const head = document.querySelector('.head.here')?.getBoundingClientRect();
		const top = document.querySelector('canvas.top[aria-label="Calls of each thread over time"]');
		if (!head) return 'its lane is not among those on the screen';
		if (head.top < lanes.top - 1 || head.bottom > lanes.bottom - 18) return 'its lane is outside of the screen';
		const details = document.querySelector('section[aria-label="Selected call"]').getBoundingClientRect();
		if (details.top < lanes.bottom) return 'the details cover lanes';
		const [from, to] = document.querySelector('[role=slider]').getAttribute('aria-valuetext').split(' to ').map((t) => parseFloat(t) * 1e9);
		const left = 220;
		const x = left + ((start + dur / 2 - from) / (to - from)) * (top.clientWidth - left);
		if (x < left || x > top.clientWidth) return 'it is outside of the range on the screen';
		const box = top.getBoundingClientRect();
		const y = head.top - box.top;
		const ratio = devicePixelRatio;
		const text = getComputedStyle(document.documentElement).getPropertyValue('--text').trim();
		const want = [1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16));
		const pixels = top.getContext('2d').getImageData(Math.round((x - 2) * ratio), Math.round(y * ratio), Math.round(5 * ratio), Math.round(head.height * ratio)).data;
		for (let i = 0; i < pixels.length; i += 4) if (want.every((v, k) => Math.abs(pixels[i + k] - v) < 8) && pixels[i + 3] > 200) return '';
		return 'there is no outline around it';
	}, call);
	equal(is, '', 'in view');
}

await main(async (browser) => {
	run('synth', '-q', '-o', TRACE, '--rows', '60000', '--seed', '21');
	const { child, url } = await serve(TRACE);
	const callOf = caller(url);
	const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
	const page = await newPage(context);
	let first;

	await test('the slowest call stands first on the overview; a click leads to it, and it is seen', async () => {
		await page.goto(view(url, '?page=overview'));
		const slowest = page.getByRole('region', { name: 'What stands out' }).getByRole('button', { name: /slowest call/ });
		const want = ask('class in (data, meta, sync, net) && !(status has unfinished) | select op, dur | sort dur desc | head 1', TRACE).rows[0];
		await slowest.getByText(want.op, { exact: true }).waitFor();
		await slowest.click();
		await chosen(page).waitFor();
		first = await callOf(await row(page));
		equal(first.dur, want.dur, 'its duration');
		await seen(page, first);
	});

	await test('its neighbours are those of weir query, and each is seen', async () => {
		for (const [button, back] of [
			['next', false],
			['next', false],
			['previous', true],
			['previous', true],
		]) {
			const before = await callOf(await row(page));
			const was = await row(page);
			await chosen(page).getByRole('button', { name: button, exact: true }).click();
			await page.waitForFunction((r) => Number(new URL(location.href).searchParams.get('row')) !== r, was);
			const now = await callOf(await row(page));
			const same = ask(`op == ${before.op} && tid == ${before.tid} && !(status has unfinished) | select stop`, TRACE).rows.map((r) => r.stop).sort((a, b) => a - b);
			const at = same.indexOf(before.stop);
			equal(now.stop, same[at + (back ? -1 : 1)], `${button} of its kind`);
			await seen(page, now);
		}
		equal((await callOf(await row(page))).stop, first.stop, 'there and back');
	});

	await test('its file and its thread are one click away', async () => {
		await chosen(page).getByRole('button', { name: 'its file' }).click();
		await page.waitForFunction(() => new URL(location.href).searchParams.get('page') === 'files');
		await page.getByText('What was done', { exact: true }).waitFor();
		equal(await inAddress(page, 'file'), first.file_id, 'file');
		await page.goBack();
		await chosen(page).getByRole('button', { name: 'its thread' }).click();
		await page.getByRole('region', { name: 'What stands out' }).waitFor();
		equal(await inAddress(page, 'filter'), `tid == ${first.tid}`, 'filter');
	});

	await test('a call of a lane that is folded or scrolled away is brought into view', async () => {
		const calls = ask('class in (data, sync) | by tid | max(dur) as most, count() | sort most desc', TRACE).rows;
		await page.setViewportSize({ width: 1100, height: 520 });
		for (const { tid } of [calls[0], calls.at(-1)]) {
			await page.goto('about:blank');
			await page.goto(view(url, `?page=timeline&find=tid+%3D%3D+${tid}`));
			await rest(page);
			await page.getByRole('button', { name: 'fold all', exact: true }).click();
			await page.getByLabel('next match').click();
			await chosen(page).waitFor();
			await seen(page, await callOf(await row(page)));
		}
		await page.setViewportSize({ width: 1280, height: 800 });
	});

	await test('the sums of an area are those of weir query', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=timeline'));
		await rest(page);
		const box = await canvas(page).boundingBox();
		await page.mouse.move(box.x + 400, box.y + 30);
		await page.mouse.down();
		await page.mouse.move(box.x + 800, box.y + 110, { steps: 5 });
		await page.mouse.up();
		const sums = page.getByRole('region', { name: 'Totals of the area' });
		await sums.waitFor();
		await rest(page);
		const [from, to] = (await inAddress(page, 'area')).split('_').map(Number);
		const lanes = await inAddress(page, 'lanes');
		const rows = ask(`${lanes ? `id(thread) in (${lanes}) && ` : ''}!(status has unfinished) | select stop, op, class, bytes, dur`, TRACE).rows.filter((r) => r.stop >= from && r.stop < to);
		const io = rows.filter((r) => ['data', 'meta', 'sync', 'net'].includes(r.class));
		const sum = (of, name) => of.reduce((s, r) => s + (r[name] ?? 0), 0);
		const shown = async (name) => Number(await sums.locator(`[data-sum=${name}]`).getAttribute('data-value'));
		if (!rows.length) throw new Error('nothing is in the area');
		equal(await shown('calls'), rows.length, 'calls');
		equal(await shown('bytes'), sum(rows, 'bytes'), 'bytes');
		equal(await shown('time'), sum(io, 'dur'), 'time in I/O');
		equal(await shown('wait'), sum(rows.filter((r) => r.class === 'wait'), 'dur'), 'time of waiting');
		const operations = sums.locator('table', { has: page.getByText('Operations', { exact: true }) }).locator('tbody tr');
		const by = new Map();
		for (const r of rows) by.set(r.op, (by.get(r.op) ?? 0) + 1);
		for (const [op, calls] of [...by].slice(0, 3)) equal(digits(await operations.filter({ has: page.getByRole('button', { name: op, exact: true }) }).locator('td:nth-child(2)').first().textContent()), calls, `calls of ${op}`);
		await page.keyboard.press('Escape');
		await sums.waitFor({ state: 'detached' });
	});

	await test('a drag with Shift zooms, the strip of the whole trace moves what is shown', async () => {
		const box = await canvas(page).boundingBox();
		await page.keyboard.down('Shift');
		await page.mouse.move(box.x + 500, box.y + 60);
		await page.mouse.down();
		await page.mouse.move(box.x + 600, box.y + 60, { steps: 3 });
		await page.mouse.up();
		await page.keyboard.up('Shift');
		await page.waitForFunction(() => new URL(location.href).searchParams.has('from'));
		equal(await inAddress(page, 'area'), null, 'area');
		const from = Number(await inAddress(page, 'from'));
		const strip = await page.getByRole('slider').boundingBox();
		await page.mouse.click(strip.x + strip.width - 40, strip.y + 15);
		await page.waitForFunction((was) => Number(new URL(location.href).searchParams.get('from')) > was, from);
	});

	await test('a search tells how many calls are like it, and goes from one to the next', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=timeline'));
		await rest(page);
		const all = ask('op ~ "*sync*" || file ~ "*sync*" || comm ~ "*sync*" | select stop, op', TRACE).rows.filter((r) => r.stop !== null).sort((a, b) => a.stop - b.stop);
		const box = page.getByLabel('Find calls');
		await box.fill('sync');
		await page.getByRole('status').getByText(`${all.length.toLocaleString('en')} match`).waitFor();
		for (let i = 0; i < 3; i++) {
			const was = await inAddress(page, 'row');
			await box.press('Enter');
			await page.waitForFunction((r) => new URL(location.href).searchParams.get('row') !== r, was);
			const call = await callOf(await row(page));
			equal(call.stop, all[i].stop, `match ${i + 1}`);
			await seen(page, call);
		}
	});

	await test('lanes are pinned, folded and moved, and a link has it all', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=timeline'));
		await rest(page);
		const heads = page.getByRole('group', { name: 'Threads' });
		const names = async () => (await heads.locator('.head').allInnerTexts()).map((t) => t.split('\n')[0]);
		const lane = heads.locator('.head.lane').nth(3);
		const title = await lane.locator('.name').getAttribute('title');
		await lane.hover();
		await heads.getByRole('button', { name: `pin ${title}`, exact: true }).click();
		await page.waitForFunction(() => new URL(location.href).searchParams.has('pin'));
		equal(await heads.locator('.head.pinned').count(), 1, 'pinned');
		const group = heads.locator('.head.group').first();
		const before = await heads.locator('.head').count();
		await group.getByRole('button').first().click();
		await page.waitForFunction((n) => document.querySelectorAll('.pane .head').length < n, before);
		const movable = heads.getByRole('button', { name: /^move .* down$/ }).first();
		const order = (await names()).join();
		await movable.focus();
		await page.keyboard.press('Enter');
		await page.waitForFunction(() => new URL(location.href).searchParams.has('order'));
		const after = (await names()).join();
		if (after === order) throw new Error('nothing was moved');
		await page.reload();
		await rest(page);
		equal((await names()).join(), after, 'after a reload');
	});

	await test('threads are dragged within their process, and stay in it', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=timeline'));
		await rest(page);
		const heads = page.getByRole('group', { name: 'Threads' });
		// the first process of several threads with its own ones, each by its title and place
		const threads = () =>
			page.evaluate(() => {
				const all = [...document.querySelectorAll('.pane .head')].filter((h) => !h.classList.contains('pinned')).sort((a, b) => a.offsetTop - b.offsetTop);
				const first = all.findIndex((h, i) => h.classList.contains('group') && [1, 2].every((k) => all[i + k]?.classList.contains('lane') && !all[i + k].classList.contains('alone')));
				const rest = all.slice(first + 1);
				const last = rest.findIndex((h) => !h.classList.contains('lane') || h.classList.contains('alone'));
				return rest.slice(0, last < 0 ? undefined : last).map((h) => h.querySelector('.name').getAttribute('title'));
			});
		const before = await threads();
		if (before.length < 2) throw new Error(`no process of several threads: ${before}`);
		const head = (title) => heads.locator('.head.lane').filter({ has: page.locator(`.name[title="${title}"]`) });
		const [from, to] = [await head(before.at(-1)).boundingBox(), await head(before[0]).boundingBox()];
		await page.mouse.move(from.x + 60, from.y + from.height / 2);
		await page.mouse.down();
		await page.mouse.move(to.x + 60, to.y + to.height / 2, { steps: 4 });
		await page.mouse.up();
		await page.waitForFunction(() => new URL(location.href).searchParams.get('order')?.startsWith('t'));
		const want = [before.at(-1), ...before.slice(0, -1)];
		equal((await threads()).join(), want.join(), 'after a drag');
		await heads.getByRole('button', { name: `move ${want[0]} down`, exact: true }).focus();
		await page.keyboard.press('Enter');
		const down = [want[1], want[0], ...want.slice(2)];
		await page.waitForFunction((t) => document.querySelectorAll('.pane .head.lane:not(.alone) .name')[0].getAttribute('title') !== t, want[0]);
		equal((await threads()).join(), down.join(), 'after a key');
		await page.reload();
		await rest(page);
		equal((await threads()).join(), down.join(), 'after a reload');
	});
	await test('files are found by a part of their name, a row for each path, in sections', async () => {
		await page.goto('about:blank');
		await page.goto(view(url, '?page=files'));
		await rest(page);
		const io = 'class in (data, meta, sync, net) && !(status has unfinished)';
		const some = ask(`${io} && file_type == regular | by path | count() as n | sort n desc | head 1`, TRACE).rows[0].path;
		const word = some.split('/').at(-1);
		await page.getByLabel('Find files').pressSequentially(word);
		await page.waitForFunction((w) => new URL(location.href).searchParams.get('find') === w, word);
		await rest(page);
		const row = page.locator('.tree tbody tr').filter({ has: page.getByRole('button', { name: some, exact: true }) });
		equal(await row.count(), 1, 'rows of the path');
		const want = ask(`${io} && path == "${some}" | count() as n, p99(dur) as p99`, TRACE).rows[0];
		equal(digits(await row.locator('td').nth(1).innerText()), want.n, 'its calls');
		await page.getByLabel('Find files').fill('');
		await page.waitForFunction(() => !new URL(location.href).searchParams.has('find'));
		await page.getByRole('group', { name: 'Which files' }).getByRole('button', { name: /^sockets/ }).click();
		await rest(page);
		const names = await page.locator('.tree tbody tr td:first-child button:first-child').allInnerTexts();
		if (!names.length || names.some((n) => n.startsWith('/'))) throw new Error(`not sockets alone: ${names.slice(0, 5)}`);
	});

	await test('dashboards open on the first tab; a process and a folder restrict all charts', async () => {
		await page.goto('about:blank');
		const asked = [];
		page.on('request', (r) => r.url().includes('/query?') && asked.push(new URL(r.url()).searchParams.get('filter') ?? ''));
		await page.goto(view(url, '?page=dashboards'));
		await rest(page);
		equal(await page.getByRole('group', { name: 'Dashboards' }).getByRole('button').first().getAttribute('aria-pressed'), 'true', 'first tab');
		const select = page.getByLabel('process', { exact: true });
		await select.focus();
		await page.waitForFunction(() => document.querySelectorAll('label select option').length > 1);
		asked.length = 0;
		const pid = await select.locator('option').nth(1).getAttribute('value');
		await select.selectOption(pid);
		await page.getByLabel('folder').fill('/var');
		await page.getByLabel('folder').press('Enter');
		await rest(page);
		equal(asked.at(-1), `pid == ${pid} && path ~ "/var/**"`, 'filter of a chart');
	});
	await context.close();
	await stop(child);
});
