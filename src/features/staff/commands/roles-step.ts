import { escapeText } from "../../../discord/replies.ts";
import type { StaffRoleView } from "../roles/roles.schema.ts";
import { isHeld } from "../../../kernel/held.ts";
import { heldReply, rowOf } from "../../../commands/press.ts";
import { listSeen } from "../../../commands/records.ts";
import { enumLabel } from "../../../commands/show.ts";
import type { GuideContext, GuidePage, GuideStep } from "../../../commands/guide.ts";

const maxShown = 10;

/** The staff roles a community begins with. Owners are named in the configuration of the service. */
const suggested = [
  { level: "viewer", key: "helper", rank: 10 },
  { level: "moderator", key: "moderator", rank: 40 },
  { level: "senior", key: "senior-moderator", rank: 60 },
  { level: "admin", key: "administrator", rank: 80 },
] as const;
type Suggested = (typeof suggested)[number];

/** Whichever role stands for a level already: that of the suggested key, else the highest one. What a key sounds like says nothing. */
function access(roles: readonly StaffRoleView[], { key, level }: Suggested): StaffRoleView | undefined {
  const able = roles.filter((role) => role.level === level);
  return able.find((role) => role.key === key) ?? able[0];
}

/** A key of its own, where a role of another level has the suggested one. */
function freeKey(roles: readonly StaffRoleView[], key: string): string {
  return roles.some((role) => role.key === key) ? `${key}-2` : key;
}

const here = (role: StaffRoleView | undefined, { call }: GuideContext) =>
  (role?.discord ?? []).filter((one) => one.guild_id === call.guildId);

const present = (role: StaffRoleView | undefined, ground: GuideContext) => here(role, ground).filter(({ missing }) => !missing);

async function page(ground: GuideContext): Promise<GuidePage> {
  const { t } = ground;
  const roles = await listSeen<StaffRoleView>(ground, "listStaffRoles");
  if (roles === undefined) return { text: t("setup not-seen"), rows: [] };
  const lines = suggested.map((one) => {
    const role = access(roles, one);
    const mapped = here(role, ground).map(({ role_id: id, missing }) => (missing ? `\`${id}\` ⚠` : `<@&${id}>`));
    const name = role === undefined ? t(`setup role ${one.key}`) : escapeText(role.name);
    return `• **${name}** (${enumLabel(one.level, t)}): ${mapped.length === 0 ? t("setup nothing-yet") : mapped.join(" ")}`;
  });
  const rows = suggested.map((one) => {
    const role = access(roles, one);
    const known = present(role, ground);
    return rowOf({
      type: 6,
      custom_id: ground.customIdOf(one.level),
      placeholder: t("setup pick-role", { name: role?.name ?? t(`setup role ${one.key}`) }),
      min_values: 0,
      max_values: maxShown,
      default_values: known.slice(0, maxShown).map(({ role_id: id }) => ({ id, type: "role" as const })),
    } as never);
  });
  return { text: [t("setup roles"), ...lines].join("\n"), rows };
}

/** The Discord roles of this server that stand for a level from now on; those of other servers stay. */
async function act(ground: GuideContext, what: string, values: readonly string[], shown: readonly string[]) {
  const one = suggested.find(({ level }) => level === what);
  if (one === undefined) return undefined;
  const { verbs, call, t } = ground;
  const roles = (await listSeen<StaffRoleView>(ground, "listStaffRoles")) ?? [];
  const role = access(roles, one);
  if (role === undefined && values.length === 0) return undefined;
  // What the menu did not show was not taken out of it: others mapped it since, or it had no room for it.
  const isKept = ({ guild_id: guild, role_id: id }: { guild_id: string; role_id: string }): boolean =>
    guild !== call.guildId || (!shown.includes(id) && !values.includes(id));
  const kept = (role?.discord ?? []).filter(isKept);
  const discord = [...kept, ...values.map((id) => ({ guild_id: call.guildId, role_id: id }))].map(({ guild_id, role_id }) => ({
    guild_id,
    role_id,
  }));
  const { key, level, rank, name } = role ?? { ...one, key: freeKey(roles, one.key), name: t(`setup role ${one.key}`) };
  const { capacity = null, callsign_pool = null } = role ?? {};
  const body = { name, rank, level, discord, capacity, callsign_pool };
  const answer = await verbs.run("putStaffRole", call, { params: { key }, body, revision: role?.revision ?? 0 });
  return isHeld(answer) ? heldReply(answer.confirmation_required, t) : undefined;
}

/** Which Discord roles stand for which staff role. */
export const rolesStep: GuideStep = { name: "roles", page, act };
