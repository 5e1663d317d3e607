import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { Snowflake, listQuery, text } from "../../../kernel/fields.ts";
import { RoleKey, StaffLevel, staffLimits } from "../staff.schema.ts";

const Rank = z
  .int()
  .min(0)
  .max(staffLimits.rank)
  .meta({ description: "Higher stands above lower; nobody acts on an equal or higher rank" });
const Capacity = z.int().min(1).max(staffLimits.capacity);
const Pool = text(1, staffLimits.pool);

export const StaffRoleView = z
  .object({
    key: RoleKey,
    name: z.string(),
    rank: z.int(),
    level: StaffLevel,
    discord: z.array(
      z.object({
        guild_id: Snowflake,
        role_id: Snowflake,
        name: z.string().nullable().meta({ description: "As Discord names it now" }),
        missing: z.boolean().meta({ description: "Discord no longer has this role; the mapping stays until it is changed" }),
      }),
    ),
    capacity: z.int().nullable(),
    over_capacity: z.boolean().meta({ description: "More people hold it than it has room for" }),
    callsign_pool: z.string().nullable(),
    permissions_count: z.int().meta({ description: "How many permissions the role gives" }),
    members_count: z.int().meta({ description: "How many people hold it now" }),
    hoist: z.boolean().meta({ description: "Discord shows those who hold one of its roles apart from the other members" }),
    self_assignable: z.literal(false),
    revision: z.int().positive(),
  })
  .meta({ id: "StaffRole", description: "A staff role and the Discord roles that stand for it" });
export type StaffRoleView = z.infer<typeof StaffRoleView>;

const settings = {
  name: text(1, staffLimits.name),
  rank: Rank,
  level: StaffLevel,
  discord: z.array(z.strictObject({ guild_id: Snowflake, role_id: Snowflake })).max(staffLimits.discordRoles),
  capacity: Capacity.nullable(),
  callsign_pool: Pool.nullable(),
};
const { capacity, callsign_pool: callsignPool, ...needed } = settings;

function checkDiscord({ discord = [] }: { discord?: { guild_id: string; role_id: string }[] | undefined }, context: z.RefinementCtx): void {
  const seen = new Set<string>();
  for (const [index, { guild_id, role_id }] of discord.entries()) {
    const ref = `${guild_id}:${role_id}`;
    const [path, wrong] = [
      ["discord", index, "role_id"],
      (code: string, message: string) => context.addIssue({ code: "custom", path, message, params: { code } }),
    ];
    if (seen.has(ref)) wrong("repeated", say("staff.this-discord-role-is-in-the-list"));
    if (guild_id === role_id) wrong("everyone_role", say("staff.everybody-holds-everyone-it-cannot-stand-for"));
    seen.add(ref);
  }
}

export const PutStaffRoleInput = z
  .strictObject({ ...needed, capacity: capacity.optional(), callsign_pool: callsignPool.optional() })
  .superRefine(checkDiscord)
  .meta({ id: "PutStaffRoleInput", description: "The whole staff role; what is left out is empty" });
export type PutStaffRoleInput = z.infer<typeof PutStaffRoleInput>;

export const PatchStaffRoleInput = z
  .strictObject(z.object(settings).partial().shape)
  .superRefine(checkDiscord)
  .refine((input) => Object.values(input).some((value) => value !== undefined), {
    message: say("staff.change-at-least-one-thing"),
    params: { code: "required" },
  })
  .meta({ id: "PatchStaffRoleInput", description: "Fields that are not sent stay" });
export type PatchStaffRoleInput = z.infer<typeof PatchStaffRoleInput>;

export const DeleteStaffRoleInput = z
  .strictObject({ reason: text(3, 500).optional().meta({ description: "Why; kept in the audit" }) })
  .meta({ id: "DeleteStaffRoleInput" });
export type DeleteStaffRoleInput = z.infer<typeof DeleteStaffRoleInput>;

/** A change of a staff role, as it is kept while it waits for a confirmation; without an input the role is deleted. */
export const HeldStaffRoleChange = z.strictObject({ key: RoleKey, if_match: z.int(), input: PutStaffRoleInput.nullable() });

export const StaffRolesListQuery = z.object(listQuery);
export type StaffRolesListQuery = z.infer<typeof StaffRolesListQuery>;
