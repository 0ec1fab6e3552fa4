// SPDX-License-Identifier: Apache-2.0
// hostile.mjs WEIR ROOT [NUMBER]: every page over traces whose names attack a browser (tests/robust/names.py makes them): no script runs, no
// element, dialog or header comes out of a name, and what turns text round or cannot be seen is written out. NUMBER: so many pages of the last trace alone. Speaks TAP.

import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { ask, dir, main, newPage, problems, rest, root, serve, stop, test, view, weir } from './common.mjs';

// In a name, these are written out: as \n, \u202e, ...
const OBEYED = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]/;
const ATTACK = '<img src=x onerror=window.pwned=1>';
const GROUPS = ['path', 'comm', 'exe', 'argv', 'peer', 'process', 'thread', 'file'];

/** The addresses of the pages: all of them, with every kind of name somewhere in the address too */
function addresses(trace) {
	const ids = ask('by id(file) as id | count() as n | sort n desc | head 4', trace).rows.map((r) => r.id);
	const q = (text, more = '') => `?page=explore&q=${encodeURIComponent(text)}${more}`;
	const filter = `&filter=${encodeURIComponent(`path ~ "*${ATTACK}*" || comm != "x"`)}`;
	return [
		...['overview', 'timeline', 'files', 'latency', 'explore', 'dashboards'].flatMap((id) => [`?page=${id}`, `?page=${id}${filter}`]),
		'?page=overview&from=0&to=200000000',
		'?page=timeline&row=1',
		'?page=timeline&row=65540',
		...ids.map((id) => `?page=files&file=${id}`),
		`?page=files&find=${encodeURIComponent(ATTACK)}`,
		...['op', 'file', 'comm', 'pid'].map((by) => `?page=latency&by=${by}`),
		...GROUPS.map((by) => q(`by ${by} | count() as n | sort n desc`, '&chart=table')),
		q('by comm | count(), sum(dur)'),
		q('by path | hist(dur)'),
		q('by every 10ms, comm | count()'),
		q('select start, op, path, peer, comm, exe, argv, ret', '&chart=table'),
		q('where dur > 1us'),
		q(`by "${ATTACK}" | frob()`),
		`${q('select * from file', '&lang=sql&chart=table')}`,
		`${q(`select '${ATTACK}' as "${ATTACK.replaceAll('"', '')}", path from file`, '&lang=sql&chart=table')}`,
		...['service', 'storage-engine', 'neighbours', encodeURIComponent(ATTACK)].map((name) => `?page=dashboards&name=${name}`),
		`?page=${encodeURIComponent(ATTACK)}`,
		`?page=overview&filter=${encodeURIComponent(ATTACK)}`,
	];
}

/** What a name made of the page: elements, scripts, links, text that the browser obeys */
const signs = (obeyed) => {
	const bad = [];
	if (window.pwned) bad.push('a script of a name ran');
	for (const e of document.querySelectorAll('img, iframe, object, embed, base, form[action], svg [onload], [onerror], [onload], [onclick]')) bad.push(e.outerHTML.slice(0, 200));
	for (const s of document.querySelectorAll('script')) if (!s.src.startsWith(location.origin)) bad.push(`script ${s.outerHTML.slice(0, 100)}`);
	for (const a of document.querySelectorAll('a[href]')) if (!['http:', 'blob:'].includes(new URL(a.href).protocol)) bad.push(`link ${a.href.slice(0, 100)}`);
	const pattern = new RegExp(obeyed);
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walk.nextNode()) if (pattern.test(walk.currentNode.data)) bad.push(`text ${JSON.stringify(walk.currentNode.data.slice(0, 100))}`);
	for (const e of document.querySelectorAll('[title], [aria-label]'))
		for (const n of ['title', 'aria-label']) if (pattern.test(e.getAttribute(n) ?? '')) bad.push(`${n} ${JSON.stringify(e.getAttribute(n).slice(0, 100))}`);
	if (pattern.test(document.title)) bad.push(`document.title ${JSON.stringify(document.title)}`);
	return bad;
};

await main(async (browser) => {
	const traces = execFileSync('python3', [join(root, 'tests/robust/names.py'), weir, '--make', dir], { encoding: 'utf8' }).trim().split('\n');
	const number = Number(process.argv[4] ?? Infinity);
	for (const trace of number < Infinity ? traces.slice(-1) : traces) {
		const { child, url } = await serve(trace);
		const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
		const page = await newPage(context);
		for (const address of addresses(trace).slice(0, number))
			await test(`${trace}: ${decodeURIComponent(address).slice(0, 90)}`, async () => {
				await page.goto('about:blank');
				await page.goto(view(url, address));
				await rest(page);
				// requests that are refused (a wrong filter, no such dashboard) are on the console; nothing else may be
				const said = problems.filter((p) => !/status of 40[04]/.test(p));
				problems.length = 0;
				const bad = [...said, ...(await page.evaluate(signs, OBEYED.source))];
				if (bad.length) throw new Error(bad.slice(0, 3).join('; '));
			});
		await context.close();
		await stop(child);
	}
});
