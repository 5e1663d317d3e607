import type { Facts } from "./facts.ts";
import { refOf } from "./rows.ts";
import type { StaffRoleRecord } from "./subject.ts";

interface People {
  people: () => string[];
  /** The Discord roles (`guildId:roleId`) of somebody that count. */
  refsOf: (userId: string) => string[];
  isUnnamedBot: (userId: string) => boolean;
}

/** Who owns the installation, and that somebody always does. */
export function createOwnership(facts: Facts, { people, refsOf, isUnnamedBot }: People) {
  /** Owners by name or, without any, by a Discord role, as of the last look. */
  let known: ReadonlySet<string> = new Set();
  let listener: (userIds: readonly string[]) => void = () => undefined;

  /** Owners by name. A bot that was kept as the last one before it was known to be a bot is none. */
  const byName = (): string[] => facts.owners().filter((id) => !isUnnamedBot(id));
  const holdsOwnerRole = (userId: string, roleAt: Facts["roleAt"] = facts.roleAt): boolean =>
    refsOf(userId).some((ref) => roleAt(ref)?.level === "owner");
  const byRole = (): string[] => people().filter((id) => holdsOwnerRole(id));
  /** Everybody who is an owner now, by name or by a Discord role. */
  const listOwners = (): string[] => [...new Set([...byName(), ...byRole()])];

  /**
   * Something changed about one person, or (null) about anybody.
   * With owners by name nobody is the last one by role; then nobody has to be counted.
   */
  function check(userId: string | null): void {
    if (byName().length > 0) return void (known = new Set(byName()));
    if (userId !== null && !known.has(userId)) {
      if (holdsOwnerRole(userId)) known = new Set([...known, userId]);
      return;
    }
    const still = new Set(userId === null ? byRole() : [...known].filter((id) => holdsOwnerRole(id)));
    // A bot is no owner by what it once held.
    const lost = [...known].filter((id) => !isUnnamedBot(id));
    known = still;
    if (still.size > 0 || lost.length === 0) return;
    facts.setOwners((owners) => {
      for (const id of lost) owners.set(id, { retained: true });
    });
    listener(lost);
  }

  return {
    listOwners,
    /** Owners by a Discord role. */
    ownersByRole: byRole,
    /** Whether this person is an owner and nobody else is. */
    isLastOwner(userId: string): boolean {
      const owners = listOwners();
      return owners.length === 1 && owners[0] === userId;
    },
    /** Whether there is an owner now and would be none with this role in place, or, without `role`, with the role of this key gone. */
    losesLastOwner(key: string, role: StaffRoleRecord | null): boolean {
      if (byName().length > 0 || byRole().length === 0) return false;
      const refs = new Set(role?.discord.map(refOf));
      const roleAt = (ref: string): StaffRoleRecord | undefined => {
        if (role !== null && refs.has(ref)) return role;
        const kept = facts.roleAt(ref);
        return kept?.key === key ? undefined : kept;
      };
      return !people().some((id) => holdsOwnerRole(id, roleAt));
    },
    /** Owners by name that are kept only as the last ones. */
    retainedOwners: () => facts.owners().filter((id) => facts.ownerSource(id) === "last_owner"),
    /** Whether somebody is an owner without being kept as the last one. */
    hasLastingOwner: () => facts.lastingOwners().length > 0 || byRole().length > 0,
    /** Hear of those who were the last owners when that was taken away, in Discord or by another process; they stay owners. */
    onLastOwnersLost(heard: (userIds: readonly string[]) => void): void {
      listener = heard;
    },
    check,
  };
}
