// SPDX-License-Identifier: Apache-2.0
// jaeger.mjs WEIR ROOT: Jaeger's own page on weir serve, in a browser: its list of traces, one of them, and its graph of services. The page is
// of a build of github.com/jaegertracing/jaeger-ui in out/jaeger-ui or the folders of $WEIR_JAEGER_UI (separated by :), as
// docs/howto/run-the-tests.md has it; without one the test is skipped. With WEIR_SHOTS=FOLDER it keeps pictures there.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { dir, equal, main, newPage, problems, root, run, serve, skip, stop, test } from './common.mjs';

const builds = (process.env.WEIR_JAEGER_UI ?? join(root, 'out/jaeger-ui')).split(':').filter((b) => existsSync(join(b, 'index.html')));
if (!builds.length) skip('no build of jaeger-ui: docs/howto/run-the-tests.md');

const T0 = Math.floor(Date.now() / 1000 - 60) * 1e9;
const CHECKOUT = 'a'.repeat(32);
const CART = 'b'.repeat(32);
const types = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };

function span(traceId, id, name, start, dur, parent, kind, failed) {
	const s = { traceId, spanId: id.repeat(16), name, kind, startTimeUnixNano: String(T0 + start * 1e6), endTimeUnixNano: String(T0 + (start + dur) * 1e6) };
	if (parent) s.parentSpanId = parent.repeat(16);
	if (failed) s.status = { code: 2 };
	return s;
}

function service(name, spans) {
	return { resource: { attributes: [{ key: 'service.name', value: { stringValue: name } }] }, scopeSpans: [{ spans }] };
}

const story = { resourceSpans: [
	service('shop', [span(CHECKOUT, '1', 'GET /checkout', 0, 80, '', 2), span(CHECKOUT, '2', 'pay', 5, 60, '1', 3),
		span(CART, '5', 'GET /cart', 1000, 9, '', 2)]),
	service('db', [span(CHECKOUT, '3', 'SELECT', 10, 20, '2', 2), span(CHECKOUT, '4', 'INSERT', 31, 2, '2', 2, true)]),
] };

/** Serves the page, and passes on what it asks of Jaeger, with the token. */
async function front(build, url, asked) {
	const weir = new URL(url);
	const token = new URLSearchParams(weir.hash.slice(1)).get('token');
	const server = createServer(async (request, response) => {
		const path = new URL(request.url, weir).pathname;
		if (path.startsWith('/api/')) {
			const answer = await fetch(new URL(request.url, weir.origin), { headers: { Authorization: `Bearer ${token}` } });
			asked.push(`${answer.status} ${path}`);
			response.writeHead(answer.status, { 'Content-Type': 'application/json' });
			response.end(Buffer.from(await answer.arrayBuffer()));
			return;
		}
		const file = join(build, normalize(path));
		const found = extname(path) && existsSync(file) ? file : join(build, 'index.html');
		response.writeHead(200, { 'Content-Type': types[extname(found)] ?? 'application/octet-stream' });
		response.end(readFileSync(found));
	});
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	return server;
}

async function shot(page, name) {
	if (process.env.WEIR_SHOTS) await page.screenshot({ path: join(process.env.WEIR_SHOTS, `${name}.png`) });
}

await main(async (browser) => {
	writeFileSync(join(dir, 'story.json'), JSON.stringify(story));
	run('import', '-q', '-o', 'story.trace', 'story.json');
	const { child, url } = await serve('story.trace');
	for (const [i, build] of builds.entries()) {
		const asked = [];
		const server = await front(build, url, asked);
		const at = `http://127.0.0.1:${server.address().port}`;
		const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
		const page = await newPage(context);
		const whole = `start=${T0 / 1e3 - 1e6}&end=${T0 / 1e3 + 60e6}&lookback=custom&limit=20`;

		await test(`build ${i + 1}: the traces of a service`, async () => {
			await page.goto(`${at}/search?service=shop&${whole}`);
			for (const [name, id, spans] of [['GET /checkout', CHECKOUT, 4], ['GET /cart', CART, 1]]) {
				const line = page.locator('li', { has: page.locator(`a[href*="${id}"]`) }).first();
				await line.getByText(name).first().waitFor();
				equal(new RegExp(`(^|\\D)${spans} Span`).test(await line.innerText()), true, `${spans} spans of ${name}`);
			}
			await shot(page, `jaeger-${i + 1}-search`);
		});

		await test(`build ${i + 1}: one trace`, async () => {
			await page.goto(`${at}/trace/${CHECKOUT}`);
			const names = page.locator('.span-name .endpoint-name');
			await names.first().waitFor();
			equal((await names.allInnerTexts()).map((n) => n.trim()), ['GET /checkout', 'pay', 'SELECT', 'INSERT'], 'spans');
			await shot(page, `jaeger-${i + 1}-trace`);
		});

		await test(`build ${i + 1}: which service calls which`, async () => {
			await page.goto(`${at}/dependencies`);
			for (const name of ['shop', 'db']) await page.getByText(name, { exact: true }).first().waitFor();
			await shot(page, `jaeger-${i + 1}-dependencies`);
		});

		await test(`build ${i + 1}: all that it asked was answered`, async () => {
			equal(asked.filter((a) => !a.startsWith('200 ')), [], 'refused');
			equal(asked.some((a) => /operations/.test(a)), true, 'operations');
		});
		problems.length = 0; // the page's own warnings
		await context.close();
		server.close();
	}
	await stop(child);
});
