import { referenceIn, type Stage } from "../stage.ts";

const why = "Advertised in #trade after two reminders.";

/** Moderation in one step, and what others look at afterwards. */
export async function moderation({ people, say, menu, begin, world, guild }: Stage): Promise<void> {
  const { ada, sam, mona, vera, olivia, resident } = people;
  const user = Object.assign(world.member("raider"), { locale: resident.locale });
  const all = ["warning", "note", "timeout", "kick", "ban"].map((action) => [action, { level: "moderator" }]);
  const rules = { ...Object.fromEntries(all), kick: null, ban: { level: "admin", max: "P28D" } };
  begin("moderation");
  await say(olivia, "setup direct show");
  await say(olivia, "setup direct set", { action: "ban", level: "admin", max: "28 days" });
  await say(olivia, "setup direct set", { action: "kick", level: "admin", max: "1 day" });
  await say(olivia, "setup reasons list");
  await say(olivia, "setup reasons add", { name: "spam" }, { form: { text: "Advertised in several channels." } });
  await say(olivia, "setup reasons remove", { name: "spam" });
  await world.put(`/guilds/${guild.id}/direct`, rules, { actor: olivia });
  await say(mona, "warn", { user, reason: why, points: 1, duration: "30 days" });
  await say(mona, "note", { user, reason: "Says it was a friend of theirs." });
  await say(mona, "timeout", { user, duration: "1h30m", reason: why });
  await say(mona, "untimeout", { user, reason: "They have understood." });
  const warned = referenceIn(await say(mona, "warn", { user, reason: why }));
  await say(ada, "review undo", { reference: warned });
  await say(mona, "review undo", { reference: warned });
  await say(mona, "kick", { user, reason: why });
  await say(mona, "ban", { user, reason: "spm" });
  await say(vera, "warn", { user, reason: why });
  const banned = referenceIn(await say(ada, "ban", { user, reason: why, duration: "2 weeks" }));
  await say(ada, "unban", { user, reason: "The appeal was heard." });
  const raiders = [world.member("raider2"), world.member("raider3")].map(({ id }) => `<@${id}>`).join(" ");
  await say(ada, "ban", { users: raiders, reason: why, duration: "2 weeks", "delete-messages": "1 hour" });
  await menu(mona, "Moderate", user, { form: { action: ["note"], reason: "Came back under another name." } });
  await say(sam, "history", { user });
  await say(sam, "review later list");
  await say(sam, "review later looked", { reference: banned });
  await say(sam, "review later looked", { reference: banned });
  await say(ada, "review later looked", { reference: "PUN-REQ-999999" });
}
