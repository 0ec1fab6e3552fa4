// SPDX-License-Identifier: Apache-2.0
// flow.mjs WEIR ROOT: the page of what became of the bytes, over a recorded pipeline. What it shows is compared with `weir flow`.

import { fileURLToPath } from 'node:url';
import { ask, equal, main, newPage, rest, run, serve, skipped, stop, test, view } from './common.mjs';

const RELAY = fileURLToPath(new URL('../cases/relay.py', import.meta.url));
const digits = (text) => Number(String(text).replace(/[^\d]/g, ''));

// A file that goes through a pipe and is copied; four files that are read three times, the last time in the other order.
const CONTENT = `
	head -c 300000 /dev/urandom | tee copy | wc -c >size
	tee second <copy >/dev/null; { head -c 8192 second; head -c 4096 size; tail -c +12289 second; } >third; cat third >fourth
	for i in 1 2 3 4; do head -c 50000 /dev/urandom >data-$i; done
	cat data-1 data-2 data-3 data-4 >/dev/null; cat data-1 data-2 data-3 data-4 >/dev/null; cat data-4 data-3 data-2 data-1 >/dev/null
`;

/** Points of a picture, far apart at first, then between those: where something is drawn is found soon, wherever that is. */
function* points({ width, height }, [left, right]) {
	for (let step = 96; step >= 3; step /= 2) {
		for (let x = left, i = 0; x < width - right; x += step, i++) {
			for (let y = 5, j = 0; y < height - 5; y += 2 * step, j++) if (step === 96 || i % 2 || j % 2) yield [x, y];
		}
	}
}

/** The pointer goes over a picture until the line below it says something of the kind. */
async function point(page, picture, line, wanted, edges = [165, 10]) {
	const box = await picture.boundingBox();
	for (const [x, y] of points(box, edges)) {
		await page.mouse.move(box.x + x, box.y + y);
		const text = await page.locator(line).innerText();
		if (wanted.test(text)) return text;
	}
	throw new Error(`nothing there says ${wanted}`);
}

const MAPS = 'import mmap; f = open("mapped", "wb+"); f.truncate(4096); mmap.mmap(f.fileno(), 4096)[:4] = b"weir"';

async function recorded(browser) {
	const { child, url } = await serve('pipe.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
	const want = JSON.parse(run('flow', '--json', '--list', 'pipe.trace'));
	const picture = page.getByLabel(/^causes and effects/);
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
		// content was recorded: no hint to record it
		equal((await page.getByText('No data was altered').innerText()).trim(), 'No data was altered, lost in transit or delivered twice, as far as the bytes show.', 'verdict');
	});

	await test('what weir flow does not know is on the page', async () => {
		equal(want.mapped_unseen, true, 'a file was mapped for writing');
		const known = [want.unplaced, want.unfollowed, want.unjudged, want.mapped_unseen, want.mapped_unsure, want.contradictions + want.cycles, want.left_out];
		const lines = await page.getByLabel('not known').locator('li').allInnerTexts();
		equal(lines.length, known.filter(Boolean).length, 'lines');
		if (!lines.some((l) => l.startsWith('files were mapped for writing'))) throw new Error(`it says ${JSON.stringify(lines)}`);
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
			await page.getByLabel('order instead of time').setChecked(logical);
			const named = await point(page, picture, 'p.near', / led to /, [200, 0]);
			if (!list.some((e) => named.startsWith(e.via))) throw new Error(`it says ${JSON.stringify(named)}`);
		}
	});

	await test('it is played and shown whole again', async () => {
		await page.getByRole('button', { name: 'play' }).click();
		await page.getByRole('button', { name: 'show all' }).click();
		equal(await page.getByRole('button', { name: 'show all' }).count(), 0, 'buttons');
	});
	await page.close();
	await stop(child);
}

async function content(browser) {
	const { child, url } = await serve('content.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 900 } }));
	const picture = page.getByLabel(/^causes and effects/);
	const legend = page.getByLabel('groups of data');

	await test('data is coloured by what is like it, from a similarity on that is chosen', async () => {
		await page.goto(view(url, '?page=flow'));
		await picture.waitFor();
		await page.getByLabel('colour by content').check();
		await legend.locator('span i').first().waitFor();
		await rest(page);
		const calls = async () => (await legend.locator('span > span.quiet').allInnerTexts()).filter((t) => t.endsWith('calls')).map(digits);
		const drawn = new Set(JSON.parse(run('flow', '--json', '--list', 'content.trace')).tables.list.rows.flatMap((e) => [e.from_op, e.to_op]));
		for (const least of [80, 100, 50]) {
			await page.getByLabel(/^similar from/).fill(String(least));
			const { rows, tables } = JSON.parse(run('flow', '--json', '--groups', '--list', '--least', String(least), 'content.trace'));
			const often = new Map();
			for (const m of tables.members.rows) if (drawn.has(m.op)) often.set(m.group, (often.get(m.group) ?? 0) + 1);
			const first = (await legend.innerText()).match(/([\d,]+) more/);
			const shown = await calls();
			equal(shown.length + (first ? digits(first[1]) : 0), often.size, `groups from ${least} % on that are drawn`);
			// the group that is drawn most often, or one that is as often
			const most = Math.max(...often.values());
			const wanted = rows.filter((r) => often.get(r.group) === most).map((r) => r.members);
			if (!wanted.includes(shown[0])) throw new Error(`from ${least} %: ${shown[0]} instead of one of ${wanted}`);
		}
	});

	await test('the arrow under the pointer says what else has its data', async () => {
		const said = await point(page, picture, 'p.near', /; data: identical in \d+ calls/);
		const equals = new Set(JSON.parse(run('flow', '--json', '--groups', '--least', '100', '--list', 'content.trace')).tables.members.rows.reduce((m, r) => m.set(r.kind, (m.get(r.kind) ?? 0) + 1), new Map()).values());
		if (!equals.has(digits(said.match(/identical in (\d+)/)[1]))) throw new Error(said);
	});

	await test('the places where the bytes of a file went are a tree', async () => {
		const path = ask('from file | where path ~ "**/copy" | by path | count()', '-i', 'content.trace').rows[0].path;
		await page.getByLabel('path').fill(path);
		await page.getByRole('button', { name: 'follow' }).click();
		const rows = page.getByLabel('lineage').locator('tbody tr');
		await rows.first().waitFor();
		const tree = JSON.parse(run('flow', '--json', '--of', `path == "${path}" and bytes > 0`, 'content.trace')).tables.tree.rows;
		const said = (await rows.allInnerTexts()).join('\n');
		for (const r of tree) if (!said.includes(r.who) || !said.includes(r.call)) throw new Error(`no ${r.who} ${r.call} in ${said}`);
		if (!/second/.test(said)) throw new Error(`not where it went: ${said}`);
		equal(digits(await rows.nth(1).locator('td').nth(1).innerText() || '1') > 0, true, 'calls');
	});

	await test('reads by epoch are those of weir flow --order', async () => {
		const filter = 'path ~ "**/data-*"';
		const want = JSON.parse(run('flow', '--json', '--order', '--where', filter, 'content.trace'));
		equal(want.rows.map((r) => r.order), [null, 'same', 'reversed'], 'orders');
		await page.goto(view(url, `?page=flow&filter=${encodeURIComponent(filter)}`));
		const strip = page.getByLabel(/^reads by epoch/);
		await strip.waitFor();
		await rest(page);
		equal((await strip.getAttribute('aria-label')).match(/\d+/g), [3, want.tables.reads.rows.length], 'epochs and reads');
		const said = await point(page, strip, 'p.strip', /^no. 1 in epoch 3/, [88, 240]);
		const first = want.tables.reads.rows.find((r) => r.epoch === 3 && r.place === 1);
		if (!said.includes(first.file) || !said.includes(`piece ${first.data} `)) throw new Error(said);
	});

	await test('ready questions of content and edges are there, and are answered', async () => {
		run('flow', '--keep', 'content.trace');
		await stop(child);
		const again = await serve('content.trace');
		await page.goto(view(again.url, '?page=explore'));
		const cards = page.locator('.cards button').filter({ has: page.locator('b', { hasText: /^(Content|Flow): / }) });
		await cards.first().waitFor();
		equal(await cards.count(), 10, 'questions');
		const titles = await cards.locator('b').allInnerTexts();
		for (const title of titles) {
			await page.locator('.more button, .cards button', { hasText: title }).first().click();
			await page.locator('section.result [role=status]').waitFor();
			await rest(page);
			equal((await page.locator('[role=alert]').allInnerTexts()).join(''), '', `errors of ${title}`);
			if (!/\d rows?/.test(await page.locator('section.result [role=status]').innerText())) throw new Error(`no answer to ${title}`);
		}
		await page.close();
		await stop(again.child);
	});
}

async function replicated(browser) {
	const { child, url } = await serve('relay.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 900 } }));

	await test('the ways of replicas are a graph, with counts and lags', async () => {
		const hops = JSON.parse(run('flow', '--json', 'relay.trace')).tables.hops.rows;
		equal(hops.map((h) => h.objects), [12, 12], 'hops');
		await page.goto(view(url, '?page=flow'));
		const graph = page.getByLabel(/^replication: /);
		await graph.waitFor();
		equal(await graph.locator('g title').allTextContents(), [...new Set(hops.flatMap((h) => [h.from, h.to]))], 'nodes');
		const links = await graph.locator('text.quiet').allTextContents();
		equal(links.map((text) => /12 objects, [\d.]+ [um]?s$/.test(text)), [true, true], `links ${links}`);
	});
	await page.close();
	await stop(child);
}

/** As many arrows as the page draws at most. */
async function many(browser) {
	const { child, url } = await serve('many.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1920, height: 1080 } }));
	const picture = page.getByLabel(/^causes and effects/);

	await test('of many arrows those that lie together are one line, until they are zoomed into', async () => {
		const { edges } = JSON.parse(run('flow', '--json', 'many.trace'));
		if (edges < 20000) throw new Error(`only ${edges} edges`);
		await page.goto(view(url, '?page=flow'));
		await picture.waitFor();
		await rest(page);
		const said = await page.locator('p.near').innerText();
		const [inView, lines] = said.match(/[\d,]+/g).map(digits);
		equal(inView, edges, 'arrows in view');
		if (!(lines < 15000)) throw new Error(said);
		const box = await picture.boundingBox();
		await page.mouse.move(box.x + box.width / 2, box.y + 30);
		for (let i = 0; i < 60 && (await page.locator('p.near').innerText()).includes('drawn as'); i++) {
			await page.mouse.wheel(0, -100);
			await page.mouse.move(box.x + box.width / 2, box.y + 3 + (i % 2));
		}
		equal((await page.locator('p.near').innerText()).includes('drawn as'), false, 'lines that stand for several');
	});
	await page.close();
	await stop(child);
}

/** More processes than a canvas has pixels for (32,767 in Chromium). */
async function processes(browser) {
	const { child, url } = await serve('processes.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
	const picture = page.getByLabel(/^causes and effects/);
	/** What is drawn where the names are, between two heights from the top. */
	const drawn = (from, to) =>
		picture.evaluate((c, [a, b]) => {
			const by = c.width / c.clientWidth;
			return c.getContext('2d').getImageData(0, a * by, 150 * by, (b - a) * by).data.some((v) => v);
		}, [from, to]);

	await test('the lanes of a thousand processes are scrolled below the time axis, to the last one', async () => {
		await page.goto(view(url, '?page=flow'));
		await picture.waitFor();
		await rest(page);
		const lanes = Number((await picture.getAttribute('aria-label')).match(/\d+/)[0]);
		if (lanes < 1100) throw new Error(`only ${lanes} lanes`);
		const high = await picture.evaluate((c) => c.clientHeight);
		if (high > 800) throw new Error(`the canvas is ${high} pixels high`);
		equal(await drawn(0, 100), true, 'the first lanes are drawn');
		await picture.focus();
		const top = () => picture.evaluate((c) => c.closest('.lanes').scrollTop);
		await page.keyboard.press('PageDown');
		await page.waitForFunction((c) => c.closest('.lanes').scrollTop > 400, await picture.elementHandle());
		await page.keyboard.press('ArrowUp');
		await page.keyboard.press('PageUp');
		await page.waitForFunction((c) => c.closest('.lanes').scrollTop === 0, await picture.elementHandle());
		for (let i = 0; i < 120; i++) await page.keyboard.press('PageDown');
		await rest(page);
		equal(await drawn(high - 70, high - 30), true, 'the last lanes are drawn');
		const box = await picture.boundingBox();
		const at = await top();
		await page.mouse.move(box.x + 600, box.y + 100);
		await page.mouse.down();
		await page.mouse.move(box.x + 600, box.y + 300, { steps: 4 });
		await page.mouse.up();
		equal(await top(), at - 200, 'a drag moves the lanes');
	});
	await page.close();
	await stop(child);
}

/** A trace without calls. */
async function nothing(browser) {
	const { child, url } = await serve('none.trace');
	const page = await newPage(await browser.newContext({ viewport: { width: 1280, height: 800 } }));
	await test('without calls no axis is drawn, and the overview says why there are none', async () => {
		await page.goto(view(url, '?page=flow'));
		await page.getByText('No call is known to have caused another.').waitFor();
		equal(await page.getByLabel(/^causes and effects/).count(), 0, 'pictures');
		equal(/^because +0$/m.test(run('flow', 'none.trace')), true, 'weir flow explains no kinds of causes');
		await page.goto(view(url, '?page=overview'));
		await page.getByText('No call matched the selection of the recording.').waitFor();
		equal(run('report', 'none.trace').includes('no call matched the selection of the recording'), true, 'as weir report says');
	});
	await page.close();
	await stop(child);
}

await main(async (browser) => {
	if (process.getuid() !== 0) return skipped('the page of what became of the bytes', 'needs root');
	run('record', '-q', '--content', '-o', 'pipe.trace', '--', 'sh', '-c', `head -c 300000 /dev/zero | cat | wc -c >out; cat out; python3 -c '${MAPS}'`);
	await recorded(browser);
	run('record', '-q', '--content', '-o', 'content.trace', '--', 'sh', '-c', CONTENT);
	await content(browser);
	run('record', '-q', '--content=bytes', '-o', 'relay.trace', '--', 'python3', RELAY, 'none');
	await replicated(browser);
	run('record', '-q', '-o', 'many.trace', '--', 'sh', '-c', 'dd if=/dev/zero bs=100 count=25000 status=none | dd bs=100 of=/dev/null status=none');
	await many(browser);
	run('record', '-q', '-o', 'processes.trace', '--', 'sh', '-c', 'i=0; while [ $i -lt 1150 ]; do (:); i=$((i + 1)); done');
	await processes(browser);
	run('record', '-q', '--where', 'dur > 1h', '-o', 'none.trace', '--', 'true');
	await nothing(browser);
});
