import { settled } from "../../features/native-actions-ground.ts";
import { write } from "../../features/privacy-ground.ts";
import { idIn, referenceIn, type Stage } from "../stage.ts";

const why = "Led the raid of last night.";

/** The blacklist, linked accounts, matches and servers. */
export async function records(stage: Stage): Promise<void> {
  const { people, say, menu, begin, world } = stage;
  const { olivia, ada, sam, mona, vera, rogue, resident } = people;

  begin("blacklist");
  await say(mona, "blacklist check", { ids: "rogue" });
  await say(mona, "blacklist check", { ids: rogue.id });
  const added = await say(
    ada,
    "blacklist add",
    { user: rogue, category: "ban_evasion", severity: "high", duration: "30d" },
    { form: { "reason-public": why, "reason-internal": "Seen in three servers." }, yes: true },
  );
  const record = referenceIn(added);
  await say(ada, "blacklist add", { user: rogue, category: "raid", severity: "high" }, { form: { "reason-public": why }, yes: true });
  await say(
    ada,
    "blacklist add",
    { user: rogue, category: "raid", severity: "high", duration: "soon" },
    { form: { "reason-public": why } },
  );
  await say(vera, "blacklist add", { user: rogue, category: "raid", severity: "high" });
  await say(ada, "blacklist add", { category: "raid", severity: "high" }, { form: { "reason-public": why } });
  await say(mona, "blacklist check", { ids: `${rogue.id} ${resident.id}` });
  await menu(mona, "Blacklist check", rogue);
  await say(mona, "blacklist show", { record });
  await say(mona, "blacklist show", { record: "BL-999999" });
  await say(mona, "blacklist search", { q: "raid" });
  await say(mona, "blacklist search", { category: "scam" });
  await say(ada, "blacklist review-due");
  await say(ada, "blacklist edit", { record, severity: "critical", "reason-public": "Led two raids." }, { yes: true });
  await say(ada, "blacklist edit", { record, revision: 1, severity: "low" }, { yes: true });
  await say(ada, "blacklist evidence", { record, link: "https://example.org/raid", title: "The raid" }, { form: { note: "Seen by two." } });
  const piece = idIn(await say(ada, "blacklist files", { record }));
  await say(ada, "blacklist piece", { record, piece });
  await say(ada, "blacklist file", { record, piece });
  await say(ada, "blacklist redact", { record, piece }, { form: { reason: "Shows a bystander." }, yes: true });
  await say(ada, "blacklist import", {
    file: { name: "list.csv", bytes: Buffer.from("kind,subject_id,category,reason_public\nuser,rogue,raid,Raids\n") },
  });
  await say(ada, "blacklist history", { record });
  await say(ada, "blacklist export", { format: "csv" });
  await say(ada, "blacklist revoke", { record }, { form: { reason: "It was somebody else." }, yes: true });
  await say(ada, "blacklist revoke", { record }, { form: { reason: "Once more." }, yes: true });
  await say(olivia, "blacklist purge", { record }, { form: { reason: "Asked for by the person." }, yes: true });

  begin("alts");
  await say(mona, "alts show", { user: rogue });
  await say(
    sam,
    "alts add",
    { user: rogue, other: resident, confidence: "probable", kind: "declared_alt" },
    { form: { reason: "Said so." }, yes: true },
  );
  await say(
    sam,
    "alts add",
    { user: rogue, other: resident, confidence: "probable", kind: "declared_alt" },
    { form: { reason: "Again." }, yes: true },
  );
  await say(sam, "alts add", { user: rogue, other: rogue, confidence: "probable", kind: "declared_alt" }, { form: { reason: "Again." } });
  await say(mona, "alts show", { user: rogue });
  await say(mona, "alts list", { user: rogue });
  await say(sam, "alts edit", { user: rogue, other: resident, confidence: "confirmed" }, { form: { reason: "Same address." }, yes: true });
  await say(sam, "alts unlink", { user: rogue, other: resident }, { form: { reason: "Two people after all." }, yes: true });
  await say(
    mona,
    "alts link",
    { user: rogue, other: resident, confidence: "suspected", kind: "suspected_evasion", basis: "staff_observation" },
    { form: { reason: "They write alike." } },
  );

  begin("intel");
  const pirates = world.sandbox.createGuild({ name: "Pirates", withBot: false });
  pirates.addMember(rogue);
  stage.quoted.add("Pirates").add("Raiders' Rest").add("Harbour");
  stage.wait(1);
  await world.post("/servers", { id: pirates.id, status: "known", name: "Pirates" }, { actor: olivia });
  await say(
    ada,
    "blacklist add",
    { server: pirates.id, category: "raiding", severity: "high", "member-policy": "flag" },
    { form: { "reason-public": why }, yes: true },
  );
  await say(mona, "intel profile", { user: rogue });
  await say(mona, "intel status", { user: rogue });
  await say(mona, "intel servers", { user: rogue });
  await say(mona, "intel refresh", { user: rogue });
  await say(mona, "intel authorize", { user: resident, purpose: "recruitment" });
  await say(mona, "intel authorize", { user: rogue, purpose: "verification" });
  await world.sandbox.as(rogue).authorize(stage.links.at(-1) ?? "", { approve: true });
  await say(mona, "intel profile", { user: rogue });
  await say(mona, "intel servers", { user: rogue });
  const matches = await say(mona, "intel matches", { user: rogue });
  await say(
    sam,
    "intel resolve",
    { user: rogue, match: idIn(matches), outcome: "acknowledge" },
    { form: { reason: "Known and harmless." }, yes: true },
  );
  await say(sam, "intel clearances", { user: rogue });
  await say(sam, "intel revoke", { user: rogue }, { form: { reason: "No longer needed." }, yes: true });
  await say(mona, "intel strikes", { user: rogue });
  await say(
    sam,
    "intel server register",
    { server: "80351110224678912", status: "watched", name: "Raiders' Rest", tags: "raid" },
    { yes: true },
  );
  await say(sam, "intel server register", { server: "raiders", status: "watched" });
  await say(sam, "intel server show", { server: "80351110224678912" });
  await say(sam, "intel server list");
  await say(sam, "intel server edit", { server: "80351110224678912", note: "Quiet since spring." }, { yes: true });
  await say(sam, "intel server agreements", { server: "80351110224678912" });
  await say(sam, "intel server incidents", { server: "80351110224678912" });
  await say(vera, "intel servers", { user: rogue });
  const raider = world.member("raider");
  world.guild.ban(raider, { by: mona, reason: why });
  await settled(world);
  // Discord's time here is that of the machine, and the gallery has its own.
  await write(world, ({ db, now }) => db.nativeAction.updateMany({ data: { at: now } }));
  const byHand = await world.sandbox.as(sam).in(world.guild).runSlashCommand("intel by-hand", { user: raider });
  const found = await stage.follow("@sam: /intel by-hand user:@raider", byHand, {});
  await stage.follow("@sam: /intel by-hand ▸ the ban", await byHand.select("do:na", [idIn(found)]), {});
  await say(vera, "intel by-hand", { user: raider });

  begin("audit");
  await say(olivia, "audit search", { user: rogue });
  await say(olivia, "audit search", { from: "yesterday" });
  await say(olivia, "audit show", { record });
  await say(olivia, "audit mine");
  await say(olivia, "audit export", { user: rogue });
  await say(olivia, "audit verify");
  await say(olivia, "audit checkpoint");
  await say(mona, "audit search");

  begin("mydata");
  await say(rogue, "mydata");
  await say(mona, "mydata");
}
