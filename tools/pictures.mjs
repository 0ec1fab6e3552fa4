// SPDX-License-Identifier: Apache-2.0
// pictures.mjs WEIR TRACE FOLDER WEB: takes the screenshots for tools/pictures.
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const [weir, trace, folder, web] = process.argv.slice(2);
const { chromium } = createRequire(join(web, 'package.json'))('playwright-core');
const ask = (q) => JSON.parse(execFileSync(weir, ['query', '--json', q, trace], { encoding: 'utf8' })).rows;

const serve = spawn(weir, ['serve', '--json', trace], { stdio: ['ignore', 'pipe', 'inherit'] });
const url = await new Promise((resolve) => serve.stdout.once('data', (d) => resolve(JSON.parse(String(d)).url)));
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1360, height: 850 }, colorScheme: 'dark' });
mkdirSync(folder, { recursive: true });

const [busiest] = ask('class == data && op ~ "*write*" && file_type == regular | by file, id(file) as number | sum(bytes) as n | sort n desc | head 1');
const [slow] = ask('class == sync | select start, dur | sort dur desc | head 1');
const answer = await fetch(`${new URL(url).origin}/api/v1/overview?width=10&filter=${encodeURIComponent('class == sync')}`, { headers: { Authorization: `Bearer ${url.split('token=')[1]}` } });
const { row } = (await answer.json()).slowest.rows[0];
const views = {
	overview: '?page=overview',
	timeline: `?page=timeline&from=${Math.round(slow.start - slow.dur)}&to=${Math.round(slow.start + 2.5 * slow.dur)}&busy=1&row=${row}`,
	file: `?page=files&file=${busiest.number}`,
	latency: '?page=latency&by=op',
};
for (const [name, search] of Object.entries(views)) {
	await page.goto(url.replace('/#', `/${search}#`));
	await page.waitForLoadState('networkidle');
	await page.waitForTimeout(600);
	await page.screenshot({ path: join(folder, `page-${name}.png`) });
}
await browser.close();
serve.kill('SIGINT');
