import type { GuildHandle } from "./guild-handle.ts";
import type { User } from "./model.ts";

/** What a seed needs to make things. */
export type SeedTools = {
  createUser: (name: string, options?: { global_name?: string | null }) => User;
  createGuild: (options: { name: string; owner?: User; withBot?: boolean }) => GuildHandle;
};

export type Seeded = ReturnType<typeof seedSmall>;

const memberCount = 60;

/**
 * A small community: Harbour with a staff ladder, Lighthouse and Quarry beside it, sixty people, and one (`rogue`) who is in all three and
 * banned nowhere yet. Olivia owns all of them, adam is administrator, sara senior moderator, mona moderator, victor viewer, helen helper.
 */
export function seedSmall({ createUser, createGuild }: SeedTools) {
  const person = (name: string) => createUser(name, { global_name: name.charAt(0).toUpperCase() + name.slice(1) });
  const users = {
    olivia: person("olivia"),
    adam: person("adam"),
    sara: person("sara"),
    mona: person("mona"),
    victor: person("victor"),
    helen: person("helen"),
    rogue: person("rogue"),
  };
  const owner = users.olivia;
  const guilds = {
    harbour: createGuild({ name: "Harbour", owner }),
    lighthouse: createGuild({ name: "Lighthouse", owner }),
    quarry: createGuild({ name: "Quarry", owner }),
  };
  const { harbour, lighthouse, quarry } = guilds;
  const roles = createLadder(harbour);
  harbour.setRoles(owner, [roles.owner]);
  harbour.addMember(users.adam, { roles: [roles.admin] });
  harbour.addMember(users.sara, { roles: [roles.seniorModerator] });
  harbour.addMember(users.mona, { roles: [roles.moderator] });
  harbour.addMember(users.victor, { roles: [roles.viewer] });
  harbour.addMember(users.helen, { roles: [roles.helper] });
  for (const guild of [harbour, lighthouse, quarry]) guild.addMember(users.rogue);
  const residents: User[] = [];
  for (let number = Object.keys(users).length + 1; number <= memberCount; number++) {
    const resident = person(`resident${number}`);
    residents.push(resident);
    harbour.addMember(resident);
    if (number % 2 === 0) lighthouse.addMember(resident);
    if (number % 3 === 0) quarry.addMember(resident);
  }
  return { guilds, roles, users, residents };
}

const createLadder = (guild: GuildHandle) => ({
  owner: guild.createRole("Owner", { permissions: ["Administrator"], position: 60 }),
  admin: guild.createRole("Admin", { permissions: ["Administrator"], position: 50 }),
  seniorModerator: guild.createRole("Senior Moderator", {
    permissions: ["BanMembers", "KickMembers", "ModerateMembers", "ManageNicknames"],
    position: 40,
  }),
  moderator: guild.createRole("Moderator", { permissions: ["KickMembers", "ModerateMembers"], position: 30 }),
  helper: guild.createRole("Helper", { permissions: ["ModerateMembers"], position: 20 }),
  viewer: guild.createRole("Viewer", { permissions: ["ViewAuditLog"], position: 10 }),
});
