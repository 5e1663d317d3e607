import { z } from "zod";
import { Snowflake, listQuery } from "../../kernel/fields.ts";
import { RoleKey, StaffLevel, staffLimits } from "./staff.schema.ts";

const Rank = z
  .int()
  .min(0)
  .max(staffLimits.rank)
  .meta({ description: "Higher stands above lower; nobody acts on an equal or higher rank" });
const Capacity = z.int().min(1).max(staffLimits.capacity);
const Pool = z.string().trim().min(1).max(staffLimits.pool);

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
    callsign_pool: z.string().nullable(),
    permissions_count: z.int().meta({ description: "How many permissions the role gives" }),
    members_count: z.int().meta({ description: "How many people hold it now" }),
    self_assignable: z.literal(false),
    revision: z.int().positive(),
  })
  .meta({ id: "StaffRole", description: "A staff role and the Discord roles that stand for it" });
export type StaffRoleView = z.infer<typeof StaffRoleView>;

export const PutStaffRoleInput = z
  .strictObject({
    name: z.string().trim().min(1).max(staffLimits.name),
    rank: Rank,
    level: StaffLevel,
    discord: z.array(z.strictObject({ guild_id: Snowflake, role_id: Snowflake })).max(staffLimits.discordRoles),
    capacity: Capacity.nullable().optional(),
    callsign_pool: Pool.nullable().optional(),
  })
  .superRefine(({ discord }, context) => {
    const seen = new Set<string>();
    for (const [index, { guild_id, role_id }] of discord.entries()) {
      const ref = `${guild_id}:${role_id}`;
      const [path, wrong] = [
        ["discord", index, "role_id"],
        (code: string, message: string) => context.addIssue({ code: "custom", path, message, params: { code } }),
      ];
      if (seen.has(ref)) wrong("repeated", "This Discord role is in the list already.");
      if (guild_id === role_id) wrong("everyone_role", "Everybody holds @everyone; it cannot stand for a staff role.");
      seen.add(ref);
    }
  })
  .meta({ id: "PutStaffRoleInput", description: "The whole staff role; what is left out is empty" });
export type PutStaffRoleInput = z.infer<typeof PutStaffRoleInput>;

export const StaffRolesListQuery = z.object(listQuery);
export type StaffRolesListQuery = z.infer<typeof StaffRolesListQuery>;
