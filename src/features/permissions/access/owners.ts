import type { Facts } from "./facts.ts";
import { refOf } from "./rows.ts";
import type { StaffRoleRecord } from "./subject.ts";

/**
 * Who owns the installation, and that somebody always does.
 * @param refsOf the Discord roles (`guildId:roleId`) of somebody that count
 */
export function createOwnership(facts: Facts, people: () => string[], refsOf: (userId: string) => string[]) {
  /** Owners by name or, without any, by a Discord role, as of the last look. */
  let known: ReadonlySet<string> = new Set();
  let listener: (userIds: readonly string[]) => void = () => undefined;

  const holdsOwnerRole = (userId: string, roleAt: Facts["roleAt"] = facts.roleAt): boolean =>
    refsOf(userId).some((ref) => roleAt(ref)?.level === "owner");
  const byRole = (): string[] => people().filter((id) => holdsOwnerRole(id));
  /** Everybody who is an owner now, by name or by a Discord role. */
  const listOwners = (): string[] => [...new Set([...facts.owners(), ...byRole()])];

  /**
   * Something changed about one person, or (null) about anybody.
   * With owners by name nobody is the last one by role; then nobody has to be counted.
   */
  function check(userId: string | null): void {
    if (facts.owners().length > 0) return void (known = new Set(facts.owners()));
    if (userId !== null && !known.has(userId)) {
      if (holdsOwnerRole(userId)) known = new Set([...known, userId]);
      return;
    }
    const still = new Set(userId === null ? byRole() : [...known].filter((id) => holdsOwnerRole(id)));
    const lost = [...known];
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
      if (facts.owners().length > 0 || byRole().length === 0) return false;
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
