// SPDX-License-Identifier: Apache-2.0
// hosts.mjs WEIR ROOT: the pages of `weir serve -i clickhouse://...`: two recordings of machines of different names are loaded into
// a ClickHouse that the test starts. Every page is visited; its figures are those of the commands on the same address.

import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { ask, children, dir, equal, inAddress, main, newPage, problems, rest, run, serve, skip, stop, test, view, weir } from './common.mjs';

const program = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server'].find(existsSync);
if (!program) skip('clickhouse-server is not installed');
if (process.getuid() !== 0) skip('recording needs root');

const digits = (text) => Number(String(text).replace(/[^\d.]/g, ''));
const HOSTS = ['db1', 'web1'];

const freePort = () =>
	new Promise((resolve) => {
		const s = createServer().listen(0, '127.0.0.1', () => {
			const { port } = s.address();
			s.close(() => resolve(port));
		});
	});

/** A server in a folder of its own; its address. */
async function startServer() {
	const home = join(dir, 'clickhouse');
	const [http, tcp] = [await freePort(), await freePort()];
	mkdirSync(home);
	writeFileSync(
		join(home, 'config.xml'),
		`<yandex><logger><level>warning</level><log>${home}/log</log><errorlog>${home}/errors</errorlog></logger><http_port>${http}</http_port>` +
			`<tcp_port>${tcp}</tcp_port><listen_host>127.0.0.1</listen_host><path>${home}/data/</path><tmp_path>${home}/tmp/</tmp_path>` +
			`<user_files_path>${home}/files/</user_files_path><users_config>${home}/users.xml</users_config><default_profile>default</default_profile>` +
			'<default_database>default</default_database><mark_cache_size>67108864</mark_cache_size></yandex>',
	);
	writeFileSync(
		join(home, 'users.xml'),
		'<yandex><profiles><default/></profiles><users><default><password/><networks><ip>127.0.0.1</ip></networks><profile>default</profile>' +
			'<quota>default</quota></default></users><quotas><default/></quotas></yandex>',
	);
	const child = spawn(program, [`--config-file=${home}/config.xml`], { cwd: home, stdio: 'ignore' });
	children.add(child);
	for (let i = 0; i < 600; i++) {
		try {
			if ((await fetch(`http://127.0.0.1:${http}/`)).ok) return { child, address: `clickhouse://127.0.0.1:${http}/weir` };
		} catch {
			await new Promise((resolve) => setTimeout(resolve, 100));
		}
	}
	throw new Error('clickhouse-server does not answer');
}

/** As on two machines: each writes and reads files of its own, and what comes through a pipe. */
function record(host, blocks) {
	const work = `dd if=/dev/zero of=${dir}/${host}.data bs=4k count=${blocks} conv=fsync 2>/dev/null; cat ${dir}/${host}.data | wc -c >${dir}/${host}.out; cat /nonexistent-${host} 2>/dev/null; true`;
	execFileSync('unshare', ['--uts', 'sh', '-c', `hostname ${host}; exec "$0" "$@"`, weir, 'record', '-q', '--with', 'block', '--stacks=all', '-o', join(dir, `${host}.trace`), '--', 'sh', '-c', work], {
		stdio: 'ignore',
	});
}

async function pages(browser, address) {
	const { child, url } = await serve(address);
	const page = await newPage(await browser.newContext({ viewport: { width: 1440, height: 900 } }));
	const of = (q, ...more) => ask(q, '-i', address, ...more);
	const document = (...args) => JSON.parse(run(...args, '--json', '-i', address));
	const open = async (search) => {
		await page.goto(view(url, search));
		await rest(page);
		equal(await page.getByRole('alert').allTextContents(), '', `alerts of ${search}`);
	};
	const tile = async (word) => digits(await page.locator('[aria-label=Totals] div', { hasText: word }).locator('b').first().textContent());
	const host = page.getByLabel('Host', { exact: true });

	await test('the store is named, and so is every host', async () => {
		await open('?page=overview');
		equal(await page.locator('header .command').textContent(), address, 'in the head');
		equal((await host.locator('option').allTextContents()).join(), ['2 hosts', ...HOSTS].join(), 'hosts');
		await page.getByText(`fetched from ${address}`).waitFor();
		await page.getByText("times are from each host's own clock").waitFor();
	});

	await test('the overview of both, and of one, tells what weir query tells', async () => {
		for (const name of ['', ...HOSTS]) {
			await host.selectOption(name);
			await rest(page);
			equal(await inAddress(page, 'host'), name || null, 'host in the address');
			const [want] = of('count() as n, countif(err is not null) as bad, distinct(process) as p', ...(name ? ['--host', name] : [])).rows;
			await page.waitForFunction((n) => document.querySelector('[aria-label=Totals] b')?.textContent?.replaceAll(',', '') === String(n), want.n);
			equal(await tile('failed'), want.bad, `failed on ${name || 'both'}`);
			equal(await tile('process'), want.p, `processes of ${name || 'both'}`);
		}
	});

	await test('every page opens, of both hosts and of one', async () => {
		const ids = ['overview', 'findings', 'timeline', 'files', 'latency', 'disks', 'stacks', 'requests', 'flow', 'compare', 'explore', 'dashboards'];
		equal(await page.getByLabel('Pages').getByRole('button').count(), ids.length, 'pages');
		for (const id of ids) for (const name of ['', 'db1']) await open(`?page=${id}${name ? `&host=${name}` : ''}`);
	});

	await test('lanes of the timeline are the threads of the host', async () => {
		for (const name of HOSTS) {
			const [answer] = await Promise.all([page.waitForResponse((r) => r.url().includes('/api/v1/lanes')), page.goto(view(url, `?page=timeline&host=${name}`))]);
			const { lanes } = await answer.json();
			equal(lanes.length, of('distinct(thread) as n', '--host', name).rows[0].n, `threads of ${name}`);
			equal([...new Set(lanes.map((l) => l.host))].join(), name, 'their host');
		}
	});

	await test('files are those of the host', async () => {
		await open('?page=files&host=db1');
		const [other] = of('where path ~ "**/web1.data" | count() as n', '--host', 'db1').rows;
		equal(other.n, 0, "calls of one host on the other's file");
		const [answer] = await Promise.all([page.waitForResponse((r) => r.url().includes('/api/v1/files')), page.goto(view(url, '?page=files&host=db1'))]);
		const { entries } = await answer.json();
		const calls = of('where file is not null | count() as n', '--host', 'db1').rows[0].n;
		if (!(entries.reduce((sum, e) => sum + e.calls, 0) <= calls)) throw new Error('more calls than there are');
	});

	await test('latency, disks, flow and findings are those of the commands', async () => {
		const [latency] = await Promise.all([page.waitForResponse((r) => /\/latency\?/.test(r.url())), page.goto(view(url, '?page=latency&host=web1'))]);
		const cells = (await latency.json()).cells;
		let sum = 0;
		for (let i = 2; i < cells.length; i += 3) sum += cells[i];
		equal(sum, of('where stop is not null && class in (data, meta, sync, net) | count() as n', '--host', 'web1').rows[0].n, 'calls in the heat map');
		await open('?page=disks');
		const disks = document('disks').rows;
		if (!disks.length) throw new Error('no disk was used');
		for (const d of disks) {
			const row = page.locator('table', { has: page.getByText('Disks', { exact: true }) }).locator('tbody tr', { hasText: d.disk });
			equal(digits(await row.locator('td').nth(1).textContent()), d.requests, `requests to ${d.disk}`);
		}
		await open('?page=flow');
		const flow = document('flow');
		await page.getByText(`${flow.calls.toLocaleString('en-US')} calls, ${flow.edges.toLocaleString('en-US')} causal links`).waitFor();
		await open('?page=findings');
		const found = document('diagnose').rows.length;
		equal(await page.getByLabel(/^\d+ findings$/).count(), found ? 1 : 0, 'sign of findings');
	});

	await test('explore answers as the server itself does', async () => {
		const q = 'by host, op | count(), sum(bytes), p99(dur) | sort count desc, host, op | head 12';
		await page.goto(view(url, `?page=explore&chart=table&q=${encodeURIComponent(q)}`));
		await page.getByText('12 rows').waitFor();
		const want = of(q).rows;
		const column = async (n) => page.locator(`table[aria-rowcount] tbody tr td:nth-child(${n})`).allTextContents();
		equal((await column(1)).join(), want.map((r) => r.host).join(), 'hosts');
		equal((await column(2)).join(), want.map((r) => r.op).join(), 'operations');
		equal((await column(3)).map(digits).join(), want.map((r) => r.count).join(), 'counts');
	});

	await test('two hosts side by side have the figures of weir query and weir diff', async () => {
		await open('?page=compare');
		for (const [i, side] of ['A', 'B'].entries()) {
			equal(await page.getByLabel(`side ${side}`, { exact: true }).inputValue(), HOSTS[i], `side ${side}`);
			const [want] = of('count() as n, countif(err is not null) as bad', '--host', HOSTS[i]).rows;
			const shown = await page.getByLabel(`Totals of ${side}`).locator('b').allTextContents();
			equal(shown.slice(0, 2).map(digits).join(), [want.n, want.bad].join(), `calls and failures of ${HOSTS[i]}`);
		}
		const rows = page.locator('table', { has: page.getByText('Operations', { exact: true }) }).locator('tbody tr');
		const both = HOSTS.map((h) => new Map(of('by op, class | count() as n, p99(dur) as p', '--host', h).rows.map((r) => [`${r.op} ${r.class}`, r])));
		equal(await rows.count(), new Set(both.flatMap((m) => [...m.keys()])).size, 'operations');
		for (const row of await rows.all()) {
			const cells = await row.locator('td').allTextContents();
			const key = `${cells[0].trim()} ${cells[1].trim()}`;
			equal(cells.slice(2, 4).map(digits).join(), both.map((m) => m.get(key)?.n ?? 0).join(), `calls of ${key}`);
		}
		const diff = document('diff', '--a-where', 'host == "db1"', '--b-where', 'host == "web1"');
		const listed = diff.rows.filter((r) => r.rank !== null);
		const changes = page.locator('section', { hasText: 'What changed from A to B' }).last().locator('tbody tr');
		const shown = await changes.allTextContents();
		const said = `changes: ${shown.join(' / ')}; of weir diff, per ${diff.unit}: ${listed.map((r) => [r.rank, r.op, r.name].join(' ')).join(' / ')}`;
		equal(new Set(shown.map((t) => parseInt(t, 10))).size, new Set(listed.map((r) => r.rank)).size, said);
		for (const r of listed.filter((r) => r.presence !== 'both')) {
			const cells = await changes.filter({ hasText: r.name ?? r.op }).first().locator('td').allTextContents();
			equal(cells.slice(3, 5).map(digits).join(), [r.calls_a, r.calls_b].join(), `calls on ${r.name}`);
		}
		if (!listed.some((r) => r.presence === 'only_a' && r.name?.endsWith('db1.data'))) throw new Error('the file of one host is not found to be its own');
	});

	await test('programs and times are compared likewise', async () => {
		await page.getByLabel('Compare', { exact: true }).selectOption('program');
		await rest(page);
		await page.getByLabel('side A', { exact: true }).selectOption('dd');
		await page.getByLabel('side B', { exact: true }).selectOption('cat');
		await rest(page);
		for (const [side, comm] of [['A', 'dd'], ['B', 'cat']]) {
			const want = of(`where comm == "${comm}" | count() as n`).rows[0].n;
			await page.waitForFunction(([s, n]) => document.querySelector(`[aria-label="Totals of ${s}"] b`)?.textContent.replaceAll(',', '') === String(n), [side, want]);
		}
		await page.getByLabel('Compare', { exact: true }).selectOption('time');
		await rest(page);
		const halves = await Promise.all(['A', 'B'].map((s) => page.getByLabel(`Totals of ${s}`).locator('b').first().textContent()));
		const [all] = of('where stop is not null | count() as n').rows;
		const sum = digits(halves[0]) + digits(halves[1]);
		if (Math.abs(sum - all.n) > of('where stop is null | count() as n').rows[0].n) throw new Error(`both halves have ${sum} calls of ${all.n}`);
		problems.length = 0;
	});
	await stop(child);
}

await main(async (browser) => {
	const { child, address } = await startServer();
	record('web1', 900);
	record('db1', 700);
	run('load', '-q', '--to', address, 'web1.trace', 'db1.trace');
	await pages(browser, address);
	await stop(child, 'SIGTERM');
});
