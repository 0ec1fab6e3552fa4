// SPDX-License-Identifier: Apache-2.0
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// `npm run dev` shows the pages of a `weir serve` that runs beside it: WEIR_SERVE=http://127.0.0.1:PORT
export default defineConfig({
	plugins: [svelte()],
	base: './',
	build: { target: 'es2022', assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: { polyfill: false }, license: { fileName: 'licenses.json' } },
	server: { proxy: { '/api': process.env.WEIR_SERVE ?? 'http://127.0.0.1:7373' } },
});
