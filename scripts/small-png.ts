import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const maxColours = 256;

interface Pixels {
  width: number;
  height: number;
  /** Three bytes each, row by row. */
  rgb: Buffer;
}

/** The same picture with at most 256 colours: the most frequent ones, and for each other the nearest of them. A third of the size. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, rgb } = readPixels(png);
  const count = new Map<number, number>();
  for (let at = 0; at < rgb.length; at += 3) {
    const colour = rgb.readUIntBE(at, 3);
    count.set(colour, (count.get(colour) ?? 0) + 1);
  }
  const ranked = [...count].toSorted(([a, x], [b, y]) => y - x || a - b).map(([colour]) => colour);
  const palette = ranked.slice(0, maxColours);
  const indexOf = new Map(ranked.map((colour, index) => [colour, index < maxColours ? index : nearest(palette, colour)]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) rows[y * (width + 1) + 1 + x] = indexOf.get(rgb.readUIntBE((y * width + x) * 3, 3)) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3], 8);
  const colours = Buffer.alloc(palette.length * 3);
  for (const [index, colour] of palette.entries()) colours.writeUIntBE(colour, index * 3, 3);
  const parts = [
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ];
  return Buffer.concat([signature, ...parts]);
}

function nearest(palette: readonly number[], colour: number): number {
  const distance = (other: number): number =>
    [16, 8, 0].reduce((sum, shift) => sum + (((colour >> shift) & 255) - ((other >> shift) & 255)) ** 2, 0);
  let best = 0;
  for (const [index, other] of palette.entries()) if (distance(other) < distance(palette[best] ?? 0)) best = index;
  return best;
}

/** Reads what Chromium writes: eight bits, RGB or RGBA, not interlaced. */
function readPixels(png: Buffer): Pixels {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const channels = png[25] === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * channels;
  const flat = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) unfilter(raw.subarray(y * (stride + 1), (y + 1) * (stride + 1)), flat, y * stride, stride, channels);
  const rgb = Buffer.alloc(width * height * 3);
  for (let pixel = 0; pixel < width * height; pixel += 1) flat.copy(rgb, pixel * 3, pixel * channels, pixel * channels + 3);
  return { width, height, rgb };
}

/** Undo the filter of one row (PNG, third edition, 9.2). */
function unfilter(row: Buffer, flat: Buffer, start: number, stride: number, channels: number): void {
  const at = (offset: number, isThere: boolean): number => (isThere && offset >= 0 ? (flat[offset] ?? 0) : 0);
  for (let x = 0; x < stride; x += 1) {
    const left = at(start + x - channels, x >= channels);
    const up = at(start + x - stride, true);
    const corner = at(start + x - stride - channels, x >= channels);
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][row[0] ?? 0] ?? 0;
    flat[start + x] = ((row[x + 1] ?? 0) + guess) & 255;
  }
}

function paeth(left: number, up: number, corner: number): number {
  const [toLeft, toUp, toCorner] = [up - corner, left - corner, left + up - 2 * corner].map(Math.abs) as [number, number, number];
  if (toLeft <= toUp && toLeft <= toCorner) return left;
  return toUp <= toCorner ? up : corner;
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
