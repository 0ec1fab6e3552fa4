// SPDX-License-Identifier: Apache-2.0
import { mount } from 'svelte';
import './app.css';
import App from './App.svelte';
// Components of nearly every page are part of the first script: small, and one request instead of eight.
import './charts/HeatMap.svelte';
import './parts/DataTable.svelte';
import './parts/Wait.svelte';
import './lib/load.svelte';

mount(App, { target: document.getElementById('app')! });
