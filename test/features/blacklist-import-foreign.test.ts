// @module-tag both
import { describe, expect, test } from "vitest";
import { readCsv } from "../../src/features/blacklist/csv.ts";
import { maxLine } from "../../src/features/blacklist/import-lines.ts";
import { inWords } from "../../src/kit/say.ts";
import type { Answer, World } from "../support/world.ts";
import { shareWorld } from "../contract/world.ts";

const shared = shareWorld();
let last = 710_000_000_000_000_000n;
const freshId = (): string => (last += 7n).toString();
let known: Awaited<ReturnType<World["staff"]>> | undefined;
const admin = async () => (known ??= await shared.world.staff("admin"));

async function importCsv(csv: string, headers: Record<string, string> = {}): Promise<Answer> {
  return await shared.world.post("/blacklist/import", csv, { actor: await admin(), headers: { "content-type": "text/csv", ...headers } });
}
async function importRecords(records: unknown[], headers: Record<string, string> = {}): Promise<Answer> {
  return await shared.world.post("/blacklist/import", { records }, { actor: await admin(), headers });
}
type Result = { outcome: string; errors?: { pointer: string; code: string; detail: string; value?: string }[] };
const resultsOf = ({ body }: Answer): Result[] => body.data.results;
const outcomesOf = (answer: Answer): string[] => resultsOf(answer).map(({ outcome }) => outcome);
const recordOf = async (id: string) => await shared.world.app.database.read.blacklistRecord.findFirst({ where: { subjectId: id } });

describe("what spreadsheets and phones make of a file", () => {
  const files: Record<string, (id: string) => string> = {
    "a line that names the delimiter": (id) => `sep=;\r\nkind;subject_id;severity\r\nuser;${id};high\r\n`,
    "a byte order mark before that line": (id) => `\ufeffsep=,\nkind,subject_id,severity\nuser,${id},high\n`,
    "the same, in quotation marks": (id) => `"sep=|"\nkind|subject_id|severity\nuser|${id}|high\n`,
    "empty lines before the header": (id) => `\n\n\tkind,subject_id,severity\nuser,${id},high\n`.replace("\t", ""),
    "columns and rows that were once filled": (id) => `kind,subject_id,severity,,\nuser,${id},high,,\n,,,,\n,,,,\n`,
    "names of columns as people write them": (id) => `Kind;Subject ID; SEVERITY \nuser;${id};high\n`,
    "words with a capital letter": (id) => `kind,subject_id,severity\nUser,${id},High\n`,
    "ids as a formula, well written": (id) => `kind,subject_id,severity\nuser,"=""${id}""",high\n`,
    "ids as a formula, badly written": (id) => `kind,subject_id,severity\nuser,="${id}",high\n`,
    "ids as text of a spreadsheet": (id) => `kind,subject_id,severity\nuser,'${id},high\n`,
    "ids as mentions": (id) => `kind,subject_id,severity\nuser,<@!${id}>,high\n`,
    "ids as links to profiles": (id) => `kind,subject_id,severity\nuser,https://discord.com/users/${id},high\n`,
    "ids with signs that nobody sees": (id) => `kind,subject_id,severity\nuser,\u2068\u00a0${id}\u200b\u2069,high\n`,
    "ids in full width": (id) =>
      `kind,subject_id,severity\nuser,${Array.from(id, (digit) => String.fromCodePoint(0xff10 + Number(digit))).join("")},high\n`,
    "line ends of an old system": (id) => `kind,subject_id,severity\ruser,${id},high\r`,
    "dates without a time": (id) => `kind,subject_id,severity,expires_at\nuser,${id},high,2099-01-02\n`,
    "dates with a blank and an offset": (id) => `kind,subject_id,severity,expires_at\nuser,${id},high,2099-01-02 02:00:00+02:00\n`,
  };
  test.each(Object.keys(files))("%s", async (name) => {
    const id = freshId();
    const answer = await importCsv(files[name]?.(id) ?? "");
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(resultsOf(answer)).toMatchObject([{ outcome: "created", subject_id: id }]);
    const record = await recordOf(id);
    expect(record).toMatchObject({ kind: "user", severity: "high" });
    if (name.startsWith("dates")) expect(record?.expiresAt?.toISOString()).toBe("2099-01-02T00:00:00.000Z");
  });

  test("UTF-16 with its mark is read, and a file in an old encoding is refused with what to do", async () => {
    const id = freshId();
    const send = async (bytes: Buffer) =>
      await fetch(`${shared.world.url}/blacklist/import`, {
        method: "POST",
        headers: { authorization: `Bearer ${shared.world.key}`, "x-acting-user": (await admin()).id, "content-type": "text/csv" },
        body: new Uint8Array(bytes),
      });
    const text = `kind\tsubject_id\tsubject_name\r\nuser\t${id}\tZoë\r\n`;
    expect((await send(Buffer.from(`\ufeff${text}`, "utf16le"))).status).toBe(200);
    expect((await recordOf(id))?.subjectName).toBe("Zoë");
    const refused = await send(Buffer.from(text, "latin1"));
    expect([refused.status, ((await refused.json()) as { detail: string }).detail]).toEqual([400, expect.stringContaining("CSV UTF-8")]);
  });

  test("a date that can be read in two ways is refused, with the way to write it and what stands there", async () => {
    const answer = await importCsv(`kind,subject_id,expires_at\nuser,${freshId()},11/12/2099\n`);
    expect(resultsOf(answer)).toMatchObject([
      { outcome: "refused", errors: [{ pointer: "/expires_at", detail: expect.stringContaining("2026-11-20"), value: "11/12/2099" }] },
    ]);
  });

  test("an export begins with the mark by which spreadsheets know UTF-8, and is imported again", async () => {
    const id = freshId();
    await importCsv(`kind,subject_id,subject_name\nuser,${id},Zoë\n`);
    const exported = (await shared.world.get("/blacklist/export?format=csv", { actor: await admin() })).body as string;
    expect(exported).toMatch(/^\ufeff"number","status","kind","subject_id",/);
    const again = await importCsv(exported);
    expect(again.status).toBe(200);
    expect(new Set(outcomesOf(again))).toEqual(new Set(["unchanged"]));
  });
});

describe("a line that cannot be read refuses itself alone", () => {
  const hostile: Record<string, unknown> = {
    "U+0000 in a text": { kind: "user", subject_id: "80351110224678912", reason_public: "a\0b" },
    "U+0000 in the id": { kind: "user", subject_id: "8035\x001110224678912" },
    "half a surrogate pair": { kind: "user", subject_id: "80351110224678912", subject_name: "a\ud800" },
    "half a surrogate pair in a name": { kind: "user", subject_id: "80351110224678912", ["a\udc00\0"]: 1 },
    "the year 0": { kind: "user", subject_id: "80351110224678912", starts_at: "0000-01-01T00:00:00.000Z" },
    "the year 9999": { kind: "user", subject_id: "80351110224678912", expires_at: "9999-12-31T23:59:59.999Z" },
    "an id as a number": { kind: "user", subject_id: 80_351_110_224_678_900 },
    "an id that is too large": { kind: "user", subject_id: "99999999999999999999" },
    "text of a megabyte": { kind: "user", subject_id: "80351110224678912", reason_public: "x".repeat(1_000_000) },
    "deep nesting": { kind: "user", subject_id: "80351110224678912", evidence: JSON.parse("[".repeat(900) + "]".repeat(900)) as unknown },
    "another word": { kind: "planet", subject_id: "80351110224678912" },
    "a text": "user 80351110224678912",
    "a list": ["user", "80351110224678912"],
    "a number": 12,
    "a null": null,
  };
  test("in JSON, with its place, what stands there and why; asked again it is answered the same", async () => {
    const ids = Object.keys(hostile).map(() => freshId());
    const records = Object.values(hostile).flatMap((record, index) => [record, { kind: "user", subject_id: ids[index] }]);
    const headers = { "idempotency-key": "import-foreign-1" };
    const answer = await importRecords(records, headers);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(outcomesOf(answer)).toEqual(ids.flatMap(() => ["refused", "created"]));
    for (const { errors = [], outcome } of resultsOf(answer)) {
      if (outcome === "refused") expect(errors.length).toBeGreaterThan(0);
      for (const error of errors) expect(JSON.stringify(error).length).toBeLessThan(1000);
    }
    const again = await importRecords(records, headers);
    expect(again.body.data).toEqual(answer.body.data);
    for (const id of ids) expect(await recordOf(id)).toBeTruthy();
  });

  test("in CSV, also where it holds U+0000", async () => {
    const [one, other] = [freshId(), freshId()];
    const answer = await importCsv(
      `kind,subject_id,reason_public\nuser,${one},fine\nuser,${freshId()},a\0b\nuser,"${freshId()},open\nuser,${other},fine\n`,
    );
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    expect(outcomesOf(answer)).toEqual(["created", "refused", "refused", "created"]);
    expect(resultsOf(answer)[1]?.errors?.[0]).toMatchObject({ pointer: "/reason_public", value: "a\ufffdb" });
    expect(resultsOf(answer)[2]?.errors?.[0]?.value).toMatch(/^user,"/);
  });

  test("other fields of the body are checked as ever", async () => {
    const records = [{ kind: "user", subject_id: freshId() }];
    for (const body of [{ records, more: 1 }, { records, csv: "kind" }, { records: [] }, { records: "x" }]) {
      const answer = await shared.world.post("/blacklist/import", body, { actor: await admin() });
      expect(answer.status, JSON.stringify(body)).toBe(422);
    }
    for (const body of ['{"records":[1,]}', '{"records":[}', `{"records":[],"x":${"[".repeat(20)}${"]".repeat(20)}}`]) {
      const answer = await shared.world.post("/blacklist/import", body, {
        actor: await admin(),
        headers: { "content-type": "application/json" },
      });
      expect(answer.status, body).toBe(400);
    }
    expect(await recordOf(records[0]?.subject_id ?? "")).toBeNull();
  });
});

test("a line that is too long is told of by its beginning, in whatever pieces the file comes", async () => {
  const long = (length: number): string => `user,1,${"x".repeat(length)}the end`;
  const csv = ["kind,subject_id,subject_name", long(300_000), `${" ".repeat(300_000)}x`, "user,2,short"].join("\r\n");
  const linesIn = async (pieces: string[]): Promise<object[]> => {
    const lines: object[] = [];
    for await (const line of readCsv(pieces)) lines.push(line);
    return lines;
  };
  const inPieces = (size: number): string[] => csv.match(new RegExp(`[^]{1,${size.toString()}}`, "g")) ?? [];
  for (const pieces of [[csv], inPieces(65_536), inPieces(262_144)]) {
    const lines = await linesIn(pieces);
    expect(inWords(lines)).toMatchObject([
      { line: 2, text: expect.stringMatching(/^user,1,x{50}/), errors: [{ detail: "The line is longer than 256 KiB." }] },
      { line: 3, errors: [{ detail: "The line is longer than 256 KiB." }] },
      { line: 4, value: { kind: "user", subject_id: "2", subject_name: "short" } },
    ]);
  }
  // As long as one may be, with its end cut in two.
  const most = `user,${"1".repeat(maxLine - 5)}`;
  expect(await linesIn([`kind,subject_id\n${most}\r`, "\n"])).toEqual([{ line: 2, value: { kind: "user", subject_id: most.slice(5) } }]);
});
