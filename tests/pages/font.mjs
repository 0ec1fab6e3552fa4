// SPDX-License-Identifier: Apache-2.0
// A font whose letters are all the same box, so that what a page looks like does not hang on the fonts of a machine.

const UNITS = 1000; // per em
const ADVANCE = 560;
const BOX = [60, 0, 440, 480]; // left, bottom, right, top: about as dark as a line of text
const OTHERS = '·×–…↑↓▸▾●☼☾⠿'; // besides ASCII

const u16 = (...n) => Buffer.from(n.flatMap((v) => [(v >> 8) & 255, v & 255]));
const u32 = (...n) => Buffer.concat(n.map((v) => u16(v >>> 16, v & 0xffff)));
const pad = (b, to = 4) => Buffer.concat([b, Buffer.alloc((to - (b.length % to)) % to)]);

function glyf() {
	const [l, b, r, t] = BOX;
	// a contour of four points on the curve: from the left bottom upwards and round
	return pad(Buffer.concat([u16(1, l, b, r, t), u16(3), u16(0), Buffer.from([1, 1, 1, 1]), u16(l, 0, r - l, 0), u16(b, t - b, 0, b - t)]));
}

function cmap() {
	const ascii = Array.from({ length: 0x7e - 0x20 + 1 }, (_, i) => (i === 0 ? 2 : 1));
	const codes = [...OTHERS].map((c) => c.codePointAt(0)).sort((a, b) => a - b);
	const segments = [{ first: 0x20, last: 0x7e }, ...codes.map((c) => ({ first: c, last: c, delta: 1 - c })), { first: 0xffff, last: 0xffff, delta: 1 }];
	const n = segments.length;
	const log = Math.floor(Math.log2(n));
	const body = Buffer.concat([
		u16(2 * n, 2 * 2 ** log, log, 2 * n - 2 * 2 ** log),
		u16(...segments.map((s) => s.last)),
		u16(0),
		u16(...segments.map((s) => s.first)),
		u16(...segments.map((s) => s.delta ?? 0)),
		// the first segment goes through the list of glyphs behind the offsets
		u16(...segments.map((_, i) => (i === 0 ? 2 * n : 0))),
		u16(...ascii),
	]);
	return Buffer.concat([u16(0, 1, 3, 1), u32(12), u16(4, body.length + 6, 0), body]);
}

function name() {
	const texts = [
		[1, 'Box'],
		[2, 'Regular'],
		[3, 'Box'],
		[4, 'Box'],
		[6, 'Box'],
	].map(([id, text]) => [id, u16(...[...text].map((c) => c.codePointAt(0)))]);
	let at = 0;
	const records = texts.map(([id, text]) => {
		const record = u16(3, 1, 0x409, id, text.length, at);
		at += text.length;
		return record;
	});
	return Buffer.concat([u16(0, texts.length, 6 + 12 * texts.length), ...records, ...texts.map(([, text]) => text)]);
}

export function boxFont() {
	const glyph = glyf();
	const tables = {
		'OS/2': Buffer.concat([u16(3, ADVANCE, 400, 5, 0, 650, 600, 0, 75, 650, 600, 0, 350, 50, 300, 0), Buffer.alloc(10), u32(1, 0, 0, 0), Buffer.from('WEIR'), u16(0x40, 0x20, 0xffff, 800, -200, 0, 800, 200), u32(1, 0), u16(480, 700, 0, 0x20, 1)]),
		cmap: cmap(),
		glyf: Buffer.concat([glyph, glyph]),
		head: Buffer.concat([u32(0x10000, 0x10000, 0, 0x5f0f3cf5), u16(0, UNITS), u32(0, 0, 0, 0), u16(...BOX, 0, 8, 2, 0, 0)]),
		hhea: Buffer.concat([u32(0x10000), u16(800, -200, 0, ADVANCE, 0, 0, BOX[2], 1, 0, 0, 0, 0, 0, 0, 0, 3)]),
		hmtx: u16(ADVANCE, BOX[0], ADVANCE, BOX[0], ADVANCE, 0),
		// notdef, the box, nothing (a space)
		loca: u16(0, glyph.length / 2, glyph.length, glyph.length),
		maxp: Buffer.concat([u32(0x10000), u16(3, 4, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0)]),
		name: name(),
		post: Buffer.concat([u32(0x30000, 0), u16(-100, 50), u32(0, 0, 0, 0, 0)]),
	};
	const tags = Object.keys(tables).sort();
	const log = Math.floor(Math.log2(tags.length));
	let at = 12 + 16 * tags.length;
	const records = tags.map((tag) => {
		const data = pad(tables[tag]);
		let sum = 0;
		for (let i = 0; i < data.length; i += 4) sum = (sum + data.readUInt32BE(i)) >>> 0;
		const record = Buffer.concat([Buffer.from(tag), u32(sum, at, tables[tag].length)]);
		at += data.length;
		return record;
	});
	return Buffer.concat([u32(0x10000), u16(tags.length, 16 * 2 ** log, log, 16 * tags.length - 16 * 2 ** log), ...records, ...tags.map((tag) => pad(tables[tag]))]);
}
