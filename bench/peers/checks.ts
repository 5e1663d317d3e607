import { digitsOf, recordOf, records } from "../record.ts";
import { type Operation, type Peer, query, send } from "./peer.ts";

const subject = /"subject_id":"8035111\d{10}"/g;

/** Ask for everything once and read the answer, which is not done while it is measured. @returns the bytes of each answer @throws Error what is wrong with one */
export async function checkAnswers({ name, host, requests }: Peer): Promise<Record<Operation, number>> {
  const ask = async (operation: Operation, body?: object): Promise<string> => {
    const { paths, headers } = requests[operation];
    const address = `http://127.0.0.1:${host.port.toString()}${paths[0] ?? ""}`;
    return JSON.stringify(await send<unknown>(body === undefined ? "GET" : "POST", address, headers, body));
  };
  const expectRecords = (text: string, wanted: number): number => {
    const found = text.match(subject)?.length ?? 0;
    if (found !== wanted) throw new Error(`${name} answered ${found} records for ${wanted}: ${text.slice(0, 500)}`);
    return Buffer.byteLength(text);
  };
  const read = expectRecords(await ask("read one"), 1);
  const list = expectRecords(await ask("list of 50"), 50);
  const made = await ask("create", recordOf(digitsOf(records)));
  expectRecords(await ask("list of 50"), 50);
  return { "read one": read, "list of 50": list, create: Buffer.byteLength(made) };
}

/** How many of everything that is written with a record are there. */
export async function countWritten({ database, counts }: Peer): Promise<Record<string, number>> {
  const found: Record<string, number> = {};
  for (const [what, sql] of Object.entries(counts)) found[what] = Number((await query(database, sql))[0]?.["count"]);
  return found;
}

/** Nothing that was answered is missing, and nothing that belongs to it. @param made records since the first count @throws Error what is wrong */
export function checkCounts({ name }: Peer, before: Record<string, number>, after: Record<string, number>, made: number): void {
  if (before["records"] !== records) throw new Error(`${name} began with ${before["records"]} records instead of ${records}`);
  for (const [what, count] of Object.entries(after)) {
    const added = count - (before[what] ?? 0);
    if (added !== made) throw new Error(`${name} has ${added} more ${what} for ${made} records that were made`);
  }
}
