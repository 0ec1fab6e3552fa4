// SPDX-License-Identifier: Apache-2.0
// units.mjs ROOT: the unit tests of the pages (web/tests, run by vitest), and their types. Speaks TAP.

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';

const web = join(resolve(process.argv[2]), 'web');
const module_ = (path) => join(web, 'node_modules', path);
if (!existsSync(module_('vitest/vitest.mjs'))) {
	console.log('1..0 # skip web/node_modules is not there: tools/pages');
	process.exit(77);
}
const node = (...args) => spawnSync(process.execPath, args, { cwd: web, encoding: 'utf8', maxBuffer: 1 << 26 });

const units = node(module_('vitest/vitest.mjs'), 'run', '--reporter=tap-flat', '--testTimeout=120000', '--no-isolate');
const lines = units.stdout.split('\n').filter((l) => /^(not )?ok\b|^\s+(---|\.\.\.|error:|name:|message:|at:|actual:|expected:)/.test(l));
let count = lines.filter((l) => /^(not )?ok\b/.test(l)).length;
console.log(lines.map((l) => (/^(not )?ok\b/.test(l) ? l : `# ${l}`)).join('\n'));
let bad = units.status !== 0;
if (bad && count === 0) console.log(`not ok ${++count} - vitest\n# ${units.stderr.split('\n').slice(0, 10).join('\n# ')}`);

const types = node(module_('svelte-check/bin/svelte-check'), '--tsconfig', 'tsconfig.json', '--fail-on-warnings', '--output', 'machine');
bad ||= types.status !== 0;
console.log(`${types.status === 0 ? '' : 'not '}ok ${++count} - types of the pages`);
if (types.status !== 0) console.log(`# ${types.stdout.split('\n').slice(0, 20).join('\n# ')}`);
console.log(`1..${count}`);
process.exit(bad ? 1 : 0);
