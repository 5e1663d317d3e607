import { escapeText } from "../discord/replies.ts";
import type { CreatedKeyView, KeyView } from "../features/keys/keys.schema.ts";
import { annotated } from "../operations/route.ts";
import { isHeld } from "../kernel/held.ts";
import { heldReply } from "./held.ts";
import { momentOf } from "./show.ts";
import { actId, listSeen, type SetupGround, type SetupPage, type SetupStep } from "./setup-ground.ts";
import { buttonOf, rowOf } from "./rows.ts";
import type { Say } from "./texts.ts";

const step = "key";
const shown = 5;

/** What a first key is for: what it may, and whether it may name people it acts for. */
const purposes: Readonly<Record<string, { scopes: readonly string[]; delegation: "none" | "trusted" }>> = {
  site: { scopes: ["*"], delegation: "trusted" },
  check: { scopes: ["blacklist.check", "staff.access.read"], delegation: "none" },
};

/** A key right after it was made: its text is in this one answer, which only its maker sees. */
export function newKeyText({ key, name, expires_at: ends }: CreatedKeyView, say: Say): string {
  return `${say("setup key-made", { name: escapeText(name), until: say("say until", { at: momentOf(ends) }) })}\n\`\`\`\n${key}\n\`\`\`\n${say("setup key-once")}`;
}

async function page(ground: SetupGround): Promise<SetupPage> {
  const { say } = ground;
  const keys = await listSeen<KeyView>(ground, "listKeys", { query: { state: "active" } });
  if (keys === undefined) return { text: say("setup not-seen"), rows: [] };
  const lines = keys
    .slice(0, shown)
    .map(({ name, key_id: id, expires_at: ends }) => `• **${escapeText(name)}** \`${id}\` · ${say("say until", { at: momentOf(ends) })}`);
  const more = keys.length > shown ? [say("say more", { count: keys.length - shown })] : [];
  const options = Object.keys(purposes).map((value) => ({
    value,
    label: say(`setup key ${value}`),
    description: say(`setup key ${value} what`),
  }));
  const menu = { type: 3, custom_id: actId(step, "make"), placeholder: say("setup pick-key"), options } as const;
  const none = keys.length === 0 ? [say("setup nothing-yet")] : [];
  return { text: [say("setup key-step"), ...lines, ...more, ...none].join("\n"), rows: [rowOf(menu)] };
}

async function make({ verbs, call, say }: SetupGround, purpose: string) {
  const chosen = purposes[purpose];
  if (chosen === undefined) return undefined;
  const answer = await verbs.run("createKey", call, { body: { name: say("setup key-name"), ...chosen } });
  if (isHeld(answer)) return heldReply(answer.confirmation_required, say);
  const made = annotated(answer).view as CreatedKeyView;
  return { text: newKeyText(made, say), rows: [rowOf(buttonOf(say("setup key-undo"), actId(step, `undo-${made.key_id}`), 4))] };
}

/** The first key for a program. */
export const keyStep: SetupStep = {
  name: step,
  page,
  async act(ground, what, [purpose = ""]) {
    if (what === "make") return await make(ground, purpose);
    const id = /^undo-(\w+)$/.exec(what)?.[1];
    if (id === undefined) return undefined;
    const answer = await ground.verbs.run("revokeKey", ground.call, { params: { id } });
    return isHeld(answer) ? heldReply(answer.confirmation_required, ground.say) : undefined;
  },
};
