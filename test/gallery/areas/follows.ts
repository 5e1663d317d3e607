import type { Stage } from "../stage.ts";

/** Lists of other communities that are followed. No address of them answers. */
export async function follows({ people, say, begin, world }: Stage): Promise<void> {
  const { ada, mona, vera, rogue, resident } = people;
  const file = (text: string) => ({ file: { name: "list.csv", bytes: Buffer.from(text) } });
  const csv = `kind,subject_id,number,category,severity\nuser,${rogue.id},N-1,raid,high\nuser,${resident.id},N-2,scam,low\n`;

  begin("follows");
  await say(mona, "follows list");
  const address = "https://127.0.0.1";
  const idOf = async (name: string): Promise<string> =>
    (await world.app.database.read.followedList.findUniqueOrThrow({ where: { name }, select: { id: true } })).id;
  await say(
    ada,
    "follows add",
    { trust: "high", categories: "raid, scam" },
    { form: { name: "Harbour Watch", address, key: "prv_live_harbour" } },
  );
  await say(ada, "follows add", { kind: "file" }, { form: { name: "Quay Watch" } });
  const [asked, list] = [await idOf("Harbour Watch"), await idOf("Quay Watch")];
  await say(ada, "follows add", { kind: "file" }, { form: { name: "Quay Watch" } });
  await say(ada, "follows add", {}, { form: { name: "No key", address } });
  await say(mona, "follows add");
  await say(ada, "follows refresh", { list: asked });
  await say(ada, "follows refresh", { list });
  await say(ada, "follows send", { list, ...file(csv) });
  await say(ada, "follows send", { list, ...file("kind,subject_id\nuser,rogue\n") });
  await say(mona, "follows list");
  await say(mona, "follows show", { list });
  await say(mona, "follows entries", { list });
  await say(mona, "blacklist check", { ids: `${rogue.id} ${resident.id}` });
  await say(ada, "follows adopt", { list, entry: "N-1" }, { form: { "reason-public": "Led the raid there, too." } });
  await say(ada, "follows adopt", { list, entry: "N-9" }, { form: { "reason-public": "Led the raid there, too." } });
  await say(ada, "follows edit", { list, trust: "low", categories: "raid" });
  await say(ada, "follows reset", { list }, { yes: true });
  await say(mona, "follows entries", { list });
  await say(ada, "follows stop", { list: asked }, { yes: true });
  await say(vera, "follows list");
}
