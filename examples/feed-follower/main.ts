import { readFile, rename, writeFile } from "node:fs/promises";
import { createProvostClient, ProvostError, type Schema } from "provost/client";

/** What the file holds: the records that count, and how far both streams were followed. */
interface Copy {
  /** `meta.resume_cursor` of the feed. */
  cursor?: string;
  /** The last event that was handled; the first time from the oldest one kept. */
  position: number;
  records: Record<string, Schema<"BlacklistChange">["record"]>;
}

const { PROVOST_URL: baseUrl, PROVOST_KEY: key, PROVOST_ACTING_USER: actingUser } = process.env;
const [file] = process.argv.slice(2);
if (baseUrl === undefined || key === undefined || file === undefined)
  throw new Error("Set PROVOST_URL and PROVOST_KEY, and name the file that the records are to be kept in.");
const path = file;
const client = createProvostClient({ baseUrl, key, ...(actingUser !== undefined && { actingUser }) });
let copy = await read();

async function read(): Promise<Copy> {
  const text = await readFile(path, "utf8").catch(() => undefined);
  return text === undefined ? { position: 0, records: {} } : (JSON.parse(text) as Copy);
}

/** Whoever is ended while writing leaves the file as it was before. */
async function save(): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(copy, null, 2));
  await rename(`${path}.new`, path);
}

/** Apply what happened since the last time. */
async function catchUp(): Promise<void> {
  for (let hasMore = true; hasMore;) {
    const query = { limit: 200, ...(copy.cursor !== undefined && { cursor: copy.cursor }) };
    const { data } = await client.GET("/blacklist/changes", { params: { query } });
    for (const { record_id: id, retract, record } of data.data) {
      if (retract || record?.status !== "active") delete copy.records[id];
      else copy.records[id] = record;
    }
    copy.cursor = data.meta.resume_cursor;
    await save();
    hasMore = data.page.has_more;
  }
}

/** A cursor is unknown to a service that was restored from a backup: what it knows is read from the beginning. */
async function catchUpOrBegin(): Promise<void> {
  try {
    await catchUp();
  } catch (error) {
    if (!(error instanceof ProvostError) || error.code !== "invalid_cursor") throw error;
    copy = { position: copy.position, records: {} };
    await catchUp();
  }
  console.log(`${Object.keys(copy.records).length.toString()} records count`);
}

await catchUpOrBegin();
// Events say that there is something to read, and also after a gap there is; the feed says what.
const events = client.events({ types: ["blacklist.*"], after: copy.position, onPosition: (position) => (copy.position = position) });
for await (const _event of events) await catchUpOrBegin();
