import { compareIds } from "./ids.ts";

/** What the list is ordered and searched by. */
interface Named {
  user: { id: string; username: string; global_name: string | null };
  nick: string | null;
}

export type MemberList<Member extends Named> = ReturnType<typeof createMemberList<Member>>;

/** Members of one guild, kept in ascending order of user id so that a page costs its own length and not a sort of everybody. */
export function createMemberList<Member extends Named>() {
  const byId = new Map<string, Member>();
  const order: string[] = [];

  /** First place whose id is not below the given one. */
  function lowerBound(id: string): number {
    let low = 0;
    let high = order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compareIds(order[middle] as string, id) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    get size() {
      return order.length;
    },
    get: (id: string) => byId.get(id),
    has: (id: string) => byId.has(id),
    values: () => byId.values(),
    add(member: Member): void {
      const { id } = member.user;
      if (!byId.has(id)) order.splice(lowerBound(id), 0, id);
      byId.set(id, member);
    },
    remove(id: string): boolean {
      if (!byId.delete(id)) return false;
      order.splice(lowerBound(id), 1);
      return true;
    },
    /** Up to `limit` members with an id above `after` ("0" starts at the beginning). */
    page(after: string, limit: number): Member[] {
      const found = lowerBound(after);
      const start = order[found] === after ? found + 1 : found;
      return order.slice(start, start + limit).map((id) => byId.get(id) as Member);
    },
    /** Up to `limit` members whose user name, display name or nickname starts with the text, letter case aside. */
    search(text: string, limit: number): Member[] {
      const wanted = text.toLowerCase();
      const found: Member[] = [];
      for (const id of order) {
        const member = byId.get(id) as Member;
        const names = [member.user.username, member.user.global_name, member.nick];
        if (names.some((name) => name?.toLowerCase().startsWith(wanted))) found.push(member);
        if (found.length === limit) break;
      }
      return found;
    },
  };
}
