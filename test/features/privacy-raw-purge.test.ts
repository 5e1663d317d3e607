// @module-tag both
import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";
import { contentIntents, upload } from "./evidence-ground.ts";
import { backupOf, everythingStored, ok, wordsIn } from "./privacy-raw.ground.ts";

/** What is written about a record and a case, until both are purged. */
const purged = [
  "Zqlisted",
  "Zqinternal",
  "Zqname",
  "Zqtag",
  "Zqlistfile",
  "Zqlistbytes",
  "Zqlistmessage",
  "Zqrevoked",
  "Zqtitle",
  "Zqlabel",
  "Zqnote",
  "Zqaction",
  "Zqcasefile",
  "Zqcasebytes",
  "Zqoutcome",
  "Zqbinned",
] as const;
const textOf = (word: (typeof purged)[number]): string => `${word} of this record.`;

test("after a purge of a record and of a case in the bin no text of theirs is found in any file, row, log line or backup", async () => {
  const time = { offset: 0 };
  const log: string[] = [];
  const world = await createWorld({ clock: { now: () => new Date(Date.now() + time.offset) }, log: (line) => void log.push(line) });
  world.sandbox.setPrivilegedIntents(contentIntents);
  const owner = await world.staff("owner");
  const person = world.member();
  const about = { kind: "user", subject_id: person.id, subject_name: "Zqname", category: "scam", severity: "low", tags: ["zqtag"] };
  const once = { actor: owner, headers: { "idempotency-key": "list-once" } };
  const listing = { ...about, reason_public: textOf("Zqlisted"), reason_internal: textOf("Zqinternal") };
  const record = `/blacklist/${String(ok(await world.post("/blacklist", listing, once)).number)}`;
  ok(await upload(world, `${record}/evidence`, { actor: owner, bytes: Buffer.from(textOf("Zqlistbytes")), name: "Zqlistfile.png" }));
  const message = world.sandbox
    .as(person)
    .in(world.guild)
    .post({ content: textOf("Zqlistmessage") });
  const address = { kind: "message", message: { channel_id: message.channelId, message_id: message.id } };
  ok(await world.post(`${record}/evidence`, address, { actor: owner }));
  ok(await world.delete(record, { reason: textOf("Zqrevoked") }, { actor: owner }));

  const opened = { type: "general", title: textOf("Zqtitle"), labels: ["zqlabel"], subjects: [{ kind: "user", id: person.id }] };
  const made = `/cases/${String(ok(await world.post("/cases", opened, { actor: owner })).number)}`;
  ok(await world.post(`${made}/notes`, { body: textOf("Zqnote") }, { actor: owner }));
  ok(await world.post(`${made}/actions`, { kind: "warning", user_id: person.id, reason: textOf("Zqaction") }, { actor: owner }));
  ok(await upload(world, `${made}/evidence`, { actor: owner, bytes: Buffer.from(textOf("Zqcasebytes")), name: "Zqcasefile.png" }));
  ok(await world.post(`${made}/close`, { outcome: "resolved", reason: textOf("Zqoutcome"), spawn: ["punishment"] }, { actor: owner }));
  ok(await world.delete(made, { reason: textOf("Zqbinned") }, { actor: owner }));
  const everywhere = async (): Promise<string[]> => {
    const places = [...(await everythingStored(world)).values()];
    return purged.filter((word) => places.some((place) => wordsIn(place, [word]).length > 0));
  };
  expect(await everywhere()).toEqual(purged);

  ok(await world.post(`${record}/purge`, { reason: "Nothing of it was true." }, { actor: owner }));
  time.offset = 31 * 86_400_000;
  await world.app.runJobs();
  // A file that no row names is deleted an hour later.
  time.offset += 2 * 3_600_000;
  await world.app.runJobs();
  expect(await everywhere()).toEqual([]);
  expect(wordsIn(await backupOf(world), purged)).toEqual([]);
  expect(wordsIn(log.join("\n"), purged)).toEqual([]);
});
