// SPDX-License-Identifier: Apache-2.0
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync } from 'node:fs';
import { defineConfig } from 'vite';

// every operation and its class, in the order of the schema: "read data", "write data", ...
const ops = [...readFileSync(new URL('../src/schema/ops.def', import.meta.url), 'utf8').matchAll(/^OP(?:_RAW)?\(\w+, (\w+), (\w+)/gm)].map(([, op, cls]) => `${op} ${cls!.toLowerCase()}`);

// `npm run dev` shows the pages of a `weir serve` that runs beside it: WEIR_SERVE=http://127.0.0.1:PORT
export default defineConfig({
	plugins: [svelte()],
	base: './',
	define: { __OPS__: JSON.stringify(ops.join(',')) },
	// a slow machine is no reason for a warning
	build: { rolldownOptions: { checks: { bundlerTimings: false } }, target: 'es2022', assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: { polyfill: false }, license: { fileName: 'licenses.json' } },
	server: { proxy: { '/api': process.env.WEIR_SERVE ?? 'http://127.0.0.1:7373' } },
});
