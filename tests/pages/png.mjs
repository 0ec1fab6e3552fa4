// SPDX-License-Identifier: Apache-2.0
// Pictures as a browser makes them: PNG, eight bits a colour, RGB with or without alpha, not interlaced.

import zlib from 'node:zlib';

const HEAD = Buffer.from('89504e470d0a1a0a', 'hex');

/** The bytes of each line, whatever of its neighbours they were told by (section 9 of the format). */
function unfilter(data, height, stride, bytes) {
	const out = new Uint8Array(height * stride);
	for (let y = 0; y < height; y++) {
		const filter = data[y * (stride + 1)];
		for (let x = 0, at = y * stride, from = y * (stride + 1) + 1; x < stride; x++, at++, from++) {
			const left = x >= bytes ? out[at - bytes] : 0;
			const up = y > 0 ? out[at - stride] : 0;
			let guess = 0;
			if (filter === 1) guess = left;
			else if (filter === 2) guess = up;
			else if (filter === 3) guess = (left + up) >> 1;
			else if (filter === 4) {
				const corner = x >= bytes && y > 0 ? out[at - stride - bytes] : 0;
				const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)];
				guess = a <= b && a <= c ? left : b <= c ? up : corner;
			}
			out[at] = data[from] + guess;
		}
	}
	return out;
}

export function readPng(file) {
	if (!file.subarray(0, 8).equals(HEAD)) throw new Error('no PNG');
	let [width, height, bytes] = [0, 0, 0];
	const data = [];
	for (let at = 8; at < file.length; ) {
		const [size, kind] = [file.readUInt32BE(at), file.toString('latin1', at + 4, at + 8)];
		const body = file.subarray(at + 8, at + 8 + size);
		if (kind === 'IHDR') {
			[width, height] = [body.readUInt32BE(0), body.readUInt32BE(4)];
			bytes = { 2: 3, 6: 4 }[body[9]];
			if (!bytes || body[8] !== 8 || body[12] !== 0) throw new Error('a PNG of another kind');
		}
		if (kind === 'IDAT') data.push(body);
		at += size + 12;
	}
	const all = unfilter(zlib.inflateSync(Buffer.concat(data)), height, width * bytes, bytes);
	if (bytes === 3) return { width, height, rgb: all };
	const rgb = new Uint8Array(3 * width * height);
	for (let i = 0, n = width * height; i < n; i++) for (let k = 0; k < 3; k++) rgb[3 * i + k] = all[4 * i + k];
	return { width, height, rgb };
}

export function writePng(width, height, rgb) {
	const chunk = (kind, body) => {
		const named = Buffer.concat([Buffer.from(kind, 'latin1'), body]);
		const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
		size.writeUInt32BE(body.length);
		sum.writeUInt32BE(zlib.crc32(named));
		return Buffer.concat([size, named, sum]);
	};
	const head = Buffer.alloc(13);
	head.writeUInt32BE(width, 0);
	head.writeUInt32BE(height, 4);
	head.set([8, 2, 0, 0, 0], 8);
	const lines = Buffer.alloc(height * (3 * width + 1));
	for (let y = 0; y < height; y++) lines.set(rgb.subarray(3 * width * y, 3 * width * (y + 1)), y * (3 * width + 1) + 1);
	return Buffer.concat([HEAD, chunk('IHDR', head), chunk('IDAT', zlib.deflateSync(lines, { level: 9 })), chunk('IEND', Buffer.alloc(0))]);
}
