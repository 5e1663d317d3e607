import type { Stage } from "../stage.ts";
import { failAction } from "../../features/stances-community.ts";

/** Staff, permissions, confirmations and the settings of a community. */
export async function staff(stage: Stage): Promise<void> {
  const { people, say, begin, guild, world } = stage;
  const { olivia, ada, sam, mona, vera, rogue, resident } = people;

  begin("help");
  await say(mona, "help");
  await say(mona, "help", { task: "request punishment" });
  await say(rogue, "help");

  begin("staff");
  await say(mona, "staff profile");
  await say(mona, "staff profile", { user: rogue });
  await say(mona, "staff list");
  await say(ada, "staff access", { user: mona });
  await say(ada, "staff access", { user: mona, permission: "cases.open" });
  await say(ada, "staff suspend", { user: vera, until: "7d" }, { form: { reason: "Until this is cleared up." }, yes: true });
  await say(vera, "staff list");
  await say(ada, "staff reinstate", { user: vera }, { form: { reason: "Cleared up." }, yes: true });
  await say(mona, "staff suspend", { user: olivia });
  await say(sam, "staff suspend", { user: olivia }, { form: { reason: "Because." }, yes: true });
  await say(mona, "staff loa start", { until: "14d" }, { form: { reason: "Holidays." } });
  await say(mona, "staff loa end");
  await say(mona, "staff quiet-hours", { from: "22:00", to: "07:00", timezone: "Europe/Berlin" });
  await say(mona, "staff quiet-hours", { from: "22:00", to: "07:00", timezone: "Berlin" });
  await say(mona, "staff edit", { department: "North", availability: "available" });

  begin("staffrole");
  const helper = guild.createRole("helper");
  await world.sandbox.waitFor(() => world.app.guildState.role(guild.id, helper.id) !== undefined);
  await say(olivia, "staffrole list");
  await say(olivia, "staffrole show", { key: "moderator" });
  await say(olivia, "staffrole show", { key: "captain" });
  await say(olivia, "staffrole create", { key: "helper", name: "Helper", level: "viewer", rank: 5, "discord-role": helper }, { yes: true });
  await say(olivia, "staffrole create", { key: "Helper!", name: "Helper", level: "viewer", rank: 5 }, { yes: true });
  await say(olivia, "staffrole edit", { key: "helper", name: "Helpers" }, { yes: true });
  await say(olivia, "staffrole unmap", { key: "helper", "discord-role": helper }, { yes: true });
  await say(olivia, "staffrole map", { key: "helper", "discord-role": helper }, { yes: true });
  await say(olivia, "staffrole capacity", { key: "helper", capacity: 3 });
  await say(olivia, "staffrole delete", { key: "helper" }, { form: { reason: "No longer used." }, yes: true });
  await say(mona, "staffrole create", { key: "mine", name: "Mine", level: "owner", rank: 99 });

  begin("permission");
  await say(ada, "permission catalog");
  await say(ada, "permission explain", { user: mona, permission: "cases.open" });
  await say(ada, "permission explain", { user: mona, permission: "cases.fly" });
  await say(ada, "permission effective", { user: mona });
  await say(ada, "permission user", { user: mona });
  await say(
    olivia,
    "permission grant",
    { user: mona, permission: "audit.read", until: "30d" },
    { form: { reason: "Looks into a leak." }, yes: true },
  );
  await say(olivia, "permission deny", { user: mona, permission: "cases.open" }, { form: { reason: "For now." }, yes: true });
  await say(olivia, "permission clear", { user: mona, permission: "cases.open" }, { form: { reason: "Over." }, yes: true });
  await say(olivia, "permission clear-all", { user: mona }, { form: { reason: "Over." }, yes: true });
  await say(olivia, "permission simulate", { user: mona, allow: "audit.read" });
  await say(olivia, "permission role list");
  await say(olivia, "permission role show", { role: "moderator" });
  await say(olivia, "permission role allow", { role: "viewer", permission: "cases.open" }, { yes: true });
  await say(olivia, "permission role deny", { role: "viewer", permission: "cases.open" }, { yes: true });
  await say(olivia, "permission role clear", { role: "viewer", permission: "cases.open" }, { yes: true });
  await say(mona, "permission grant", { user: vera, permission: "clients.manage" });
  await say(ada, "permission grant", { user: vera, permission: "clients.manage" }, { form: { reason: "Because." }, yes: true });

  begin("confirm");
  await say(olivia, "confirm list");
  await say(olivia, "confirm show", { code: "AAAAAA" });
  await say(olivia, "confirm accept", { code: "AAAAAA" });
  await say(olivia, "confirm decline", { code: "AAAAAA" });

  begin("setup");
  await say(olivia, "setup wizard");
  await say(olivia, "setup backup");
  await say(olivia, "setup channels", { review: guild.createChannel("reviews") });
  await say(olivia, "setup alerts show");
  await say(olivia, "setup channels", { alerts: guild.createChannel("alerts") });
  await say(olivia, "setup alerts mute", { kind: "match_opened" });
  await say(olivia, "setup alerts unmute", { kind: "match_opened" });
  await say(olivia, "setup lists show");
  await say(olivia, "setup lists set", { category: "raid", stance: "apply", action: "kick", severity: "high" }, { yes: true });
  await say(olivia, "setup lists set", { category: "raid", stance: "ignore" }, { yes: true });
  await say(olivia, "setup lists exempt", { user: resident, reason: "A friend of the house.", until: "30d" });
  await say(olivia, "setup lists exempt", { user: resident, reason: "A friend of the house.", until: "soon" });
  await say(olivia, "setup lists exemptions");
  await say(olivia, "setup lists unexempt", { user: resident });
  await say(olivia, "setup lists unexempt", { user: resident });
  await say(olivia, "setup lists held");
  await say(olivia, "setup lists confirm");
  await say(olivia, "setup lists undo");
  await failAction(world, resident.id);
  await say(olivia, "blacklist failed");
  await say(olivia, "setup policies");
  await say(olivia, "setup policy", { kind: "punishment", approvals: 2, decision: "3 days" });
  await say(olivia, "setup policy", { kind: "punishment", decision: "soon" });
  await say(olivia, "setup policy-reset", { kind: "punishment" });
  await say(olivia, "setup appeal");
  await say(olivia, "setup appeal", { question: "What happened, in your own words?", required: true });
  await say(olivia, "setup appeal", { question: "What will you do differently?" });
  await say(olivia, "setup appeal", { without: 2 });
  await say(mona, "setup appeal", { question: "Why?" });
  await say(olivia, "setup clients create", { name: "desk", scopes: "blacklist.read" }, { yes: true });
  await say(olivia, "setup clients create", { name: "desk", scopes: "blacklist.fly" }, { yes: true });
  await say(olivia, "setup clients list");
  const keys = (await world.get("/keys", { actor: olivia })).body.data as { id: string; name: string }[];
  const client = keys.find(({ name }) => name === "desk")?.id ?? "";
  await say(olivia, "setup clients show", { client });
  await say(olivia, "setup clients edit", { client, name: "front desk" }, { yes: true });
  await say(olivia, "setup clients rotate", { client, grace: "1h" }, { yes: true });
  await say(olivia, "setup clients revoke", { client }, { yes: true });
  await say(olivia, "setup clients revoke", { client }, { yes: true });
  await say(olivia, "setup webhooks list");
  await say(olivia, "setup webhooks add", { name: "desk", url: "https://127.0.0.1/" });
  await say(olivia, "setup webhooks add", { name: "desk", url: "https://client.invalid/", types: "blacklist.*" });
  await say(olivia, "setup webhooks add", { name: "shelf", url: "https://client.invalid/", types: "blacklist" });
  await say(mona, "setup webhooks list");
  const { id: webhook } = await world.app.database.read.webhook.findFirstOrThrow({ select: { id: true } });
  await say(olivia, "setup webhooks deliveries", { webhook });
  await say(olivia, "setup webhooks test", { webhook });
  await say(olivia, "setup webhooks deliveries", { webhook });
  await say(olivia, "setup webhooks pause", { webhook });
  await say(olivia, "setup webhooks list");
  await say(olivia, "setup webhooks resume", { webhook });
  await say(olivia, "setup webhooks rotate", { webhook }, { yes: true });
  await say(olivia, "setup webhooks remove", { webhook }, { yes: true });
  await say(mona, "setup wizard");
}
