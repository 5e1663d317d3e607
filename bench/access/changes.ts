import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";
import { systemCall } from "../../src/kernel/call.ts";
import type { AccessView } from "../../src/features/staff/staff.schema.ts";
import { committedAt } from "./answers.ts";
import { createRandom, sharedRole, watched } from "./community.ts";
import { type Staffed, rolesOf } from "./staffed.ts";

/** All times in milliseconds. */
export interface RoleChanges {
  /** From the commit to the first answer that shows it. */
  first: number[];
  /** From the commit until everybody's decision was asked for and showed it. */
  decisions: number[];
  /** From the commit until everybody's access answer was made and showed it. */
  answers: number[];
  /** Of these times, what this process was computing; the rest went to others on the machine. */
  decisionsCpu: number[];
  answersCpu: number[];
  /** What each single one of these took. */
  oneDecision: number[];
  oneAnswer: number[];
  /** Answers after that one that did not show it. */
  outdated: number;
}

const patienceMs = 5000;
const call = systemCall("job", "bench");

/** Change again and again what the role of everybody denies, and ask about everybody: by decision, by access answer, and the other way round. */
export async function measureRoleChanges(staffed: Staffed, changes: number): Promise<RoleChanges> {
  const { app, ids } = staffed;
  const times: RoleChanges = {
    first: [],
    decisions: [],
    answers: [],
    decisionsCpu: [],
    answersCpu: [],
    oneDecision: [],
    oneAnswer: [],
    outdated: 0,
  };
  const sweep = (holds: (id: string) => boolean, wanted: boolean, singles: number[]): void => {
    for (const id of ids) {
      const askedAt = performance.now();
      if (holds(id) !== wanted) times.outdated += 1;
      singles.push(performance.now() - askedAt);
    }
  };
  for (let turn = 0; turn < changes; turn += 1) {
    const holds = turn % 2 === 1;
    const { shownMs, settled } = await changeRole(staffed, holds);
    times.first.push(shownMs);
    const before = process.cpuUsage();
    const isByDecision = turn % 4 === 0 || turn % 4 === 3;
    if (isByDecision) sweep((id) => app.access.of(id).decide(watched).allowed, holds, times.oneDecision);
    else sweep((id) => viewOf(staffed, id).permissions.includes(watched), holds, times.oneAnswer);
    times[isByDecision ? "decisions" : "answers"].push(performance.now() - committedAt());
    const { user, system } = process.cpuUsage(before);
    times[isByDecision ? "decisionsCpu" : "answersCpu"].push((user + system) / 1000);
    await settled();
  }
  return times;
}

/** From the commit of such a change to the end of one access answer over HTTP that was asked for after it, so many times. */
export async function measureNextAnswers(staffed: Staffed, count: number): Promise<number[]> {
  const random = createRandom(13);
  const times: number[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const holds = turn % 2 === 1;
    const { settled } = await changeRole(staffed, holds);
    const id = staffed.ids[Math.floor(random() * staffed.ids.length)] ?? "";
    const { permissions } = await askAccess(staffed, id);
    times.push(performance.now() - committedAt());
    if (permissions.includes(watched) !== holds) throw new Error(`the access answer of ${id} is older than the change before it`);
    await settled();
  }
  return times;
}

/** Make such a change again and again while others ask. @returns how many there were */
export async function repeatRoleChanges(staffed: Staffed, { everyMs, ms }: { everyMs: number; ms: number }): Promise<number> {
  const endsAt = performance.now() + ms;
  let count = 0;
  // An even number, so that everything is as it was.
  for (; performance.now() < endsAt || count % 2 === 1; count += 1) {
    const { settled } = await changeRole(staffed, count % 2 === 1);
    await settled();
    await delay(everyMs);
  }
  return count;
}

/** From Discord telling of one member's new role to the end of the first access answer over HTTP that shows it, for so many members. */
export async function measureMemberChanges(staffed: Staffed, count: number): Promise<number[]> {
  const { community, discordRoles, guild, users } = staffed;
  const times: number[] = [];
  for (const [index, user] of users.slice(0, count).entries()) {
    const held = community.people[index]?.roles ?? [];
    const gained = community.roles.find(({ key }) => !held.includes(key))?.key ?? "";
    const toldAt = performance.now();
    guild.setRoles(user, rolesOf(discordRoles, [...held, gained]));
    while (!(await askAccess(staffed, user.id)).staff_roles.includes(gained)) {
      if (performance.now() - toldAt > patienceMs) throw new Error("a member's new role never showed");
    }
    times.push(performance.now() - toldAt);
  }
  return times;
}

interface RoleChange {
  /** From the commit until the service shows it; it is looked at in every turn of the event loop. */
  shownMs: number;
  /** Waits for the answer to whoever changed it. */
  settled(): Promise<void>;
}

/** Allow or deny everybody the watched permission, over HTTP. Settles in the turn in which the service first shows it. */
async function changeRole({ app, ids, ownerHeaders }: Staffed, holds: boolean): Promise<RoleChange> {
  const sending = fetch(`${app.address()}/permissions/roles/${sharedRole}`, {
    method: "PUT",
    headers: { ...ownerHeaders, "Content-Type": "application/json" },
    body: JSON.stringify({ allow: [], deny: holds ? [] : [watched] }),
  });
  const settled = async (): Promise<void> => {
    const response = await sending;
    const text = await response.text();
    if (response.status !== 200) throw new Error(`a role change answered ${response.status}: ${text}`);
  };
  const sentAt = performance.now();
  while (app.access.of(ids[0] ?? "").decide(watched).allowed !== holds) {
    if (performance.now() - sentAt > patienceMs) {
      await settled();
      throw new Error("a role change never showed");
    }
    await nextTurn();
  }
  return { shownMs: performance.now() - committedAt(), settled };
}

function viewOf({ app }: Staffed, id: string): AccessView {
  const answer = app.staff.access(call, id);
  if (answer instanceof Promise) throw new Error(`${id} is not in memory`);
  return answer.view;
}

async function askAccess({ app, headers }: Staffed, id: string): Promise<AccessView> {
  const response = await fetch(`${app.address()}/staff/${id}/access`, { headers });
  const { data } = (await response.json()) as { data: AccessView };
  return data;
}
