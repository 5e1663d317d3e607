import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { expect, test } from "vitest";
import { community, isBanned, limitMs, within } from "./stances-community.ts";

test("a listed person who joins three servers meets in each what its stance says, and what the bot did is undone with the record", async () => {
  const { world, harbour, bay, cove, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  await stance(cove, { category: "raid", stance: "propose", action: "kick", min_severity: "high" });
  const user = world.sandbox.createUser("wanted");
  const { number } = await list(user);
  for (const guild of [harbour, bay, cove]) guild.addMember(user);
  const took = await within(() => isBanned(bay, user));
  expect(took).toBeLessThan(limitMs);
  await within(async () => (await rows(user)).every(({ state }) => state === "done"));
  const done = await rows(user);
  expect([harbour, bay, cove].map(({ id }) => done.find(({ guildId }) => guildId === id))).toMatchObject([
    { guildId: harbour.id, stance: "notify", recordReference: number },
    { guildId: bay.id, stance: "apply", action: "ban", changed: true },
    { guildId: cove.id, stance: "propose", action: "kick" },
  ]);
  expect(harbour.member(user)).toBeDefined();
  expect(cove.member(user)).toBeDefined();
  expect(bay.bans().map(({ reason: why }) => why)).toEqual([expect.stringContaining(number)]);

  const other = world.sandbox.createUser("banned by hand");
  bay.ban(other, { reason: "Spam." });
  await revoke(number);
  expect(await within(() => !isBanned(bay, user))).toBeLessThan(limitMs);
  expect(isBanned(bay, other)).toBe(true);
});

test("an exemption takes back what the bot did, and keeps the person free until it ends", async () => {
  const { world, bay, stance, list, admin } = await community();
  await stance(bay, { category: "any", stance: "apply", action: "timeout", timeout_seconds: 3600 });
  const user = world.sandbox.createUser("spared");
  bay.addMember(user);
  await list(user);
  const isTimedOut = () => (bay.member(user)?.timeoutUntil ?? 0) > Date.now();
  expect(await within(isTimedOut)).toBeLessThan(limitMs);
  const path = `/guilds/${bay.id}/exemptions`;
  const added = await world.post(path, { user_id: user.id, reason: "Apologised." }, { actor: admin });
  expect(added.status, JSON.stringify(added.body)).toBe(201);
  expect(await within(() => !isTimedOut())).toBeLessThan(limitMs);
  expect((await world.get(path, { actor: admin })).body.data).toMatchObject([{ user_id: user.id, reason: "Apologised.", until: null }]);
  expect((await world.delete(`${path}/${user.id}`, undefined, { actor: admin })).status).toBe(200);
  expect(await within(isTimedOut)).toBeLessThan(limitMs);
  expect((await world.delete(`${path}/${user.id}`, undefined, { actor: admin })).body).toMatchObject({ code: "record_not_found" });
});

test("a ban lifted by hand is not made again for the same record, and one made by hand instead stays", async () => {
  const { world, bay, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const user = world.sandbox.createUser("known better");
  bay.addMember(user);
  const { number } = await list(user);
  await within(() => isBanned(bay, user));
  await within(async () => (await rows(user))[0]?.state === "done");
  bay.unban(user);
  await within(async () => (await rows(user))[0]?.state === "settled");
  bay.addMember(user);
  bay.kick(user);
  bay.ban(user, { reason: "By hand." });
  await world.get("/health");
  await revoke(number);
  await within(async () => (await rows(user)).every(({ state }) => state === "ended"));
  expect(await rows(user)).toHaveLength(1);
  expect(isBanned(bay, user)).toBe(true);
});

test("who was banned by hand before stays banned, and a staff member is only told of", async () => {
  const { world, harbour, bay, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
  const colleague = await world.staff("viewer");
  await list(colleague);
  await within(async () => (await rows(colleague)).length > 0);
  expect(await rows(colleague)).toMatchObject([{ stance: "notify", state: "done" }]);
  expect(harbour.member(colleague)).toBeDefined();

  // They are in the server when the record starts, and a person is faster than the bot.
  const user = world.sandbox.createUser("first");
  const away = world.app.discord.status;
  world.app.discord.status = () => ({ ...away(), state: "connecting" });
  bay.addMember(user);
  const { number } = await list(user);
  await within(async () => (await rows(user)).length > 0);
  bay.ban(user, { reason: "By hand." });
  world.app.discord.status = away;
  await within(async () => (await rows(user))[0]?.state === "done");
  expect(await rows(user)).toMatchObject([{ changed: false }]);
  await revoke(number);
  await within(async () => (await rows(user)).every(({ state }) => state === "ended"));
  expect(isBanned(bay, user)).toBe(true);
});

test("a linked account is acted on with the person an import lists, and let go with the record", async () => {
  const { world, bay, stance, revoke, admin } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const [user, other, third] = [world.sandbox.createUser("first"), world.sandbox.createUser("second"), world.sandbox.createUser("third")];
  for (const account of [other, third]) bay.addMember(account);
  const basis = [{ type: "admission", note: "Said so." }];
  const link = { confidence: "confirmed", kind: "declared_alt", basis, propagates: true };
  const linked = await world.post(`/users/${user.id}/links`, { ...link, user_id: other.id }, { actor: admin });
  expect(linked.status, JSON.stringify(linked.body)).toBe(201);
  const records = [{ kind: "user", subject_id: user.id, category: "raid", severity: "high", include_alts: "confirmed" }];
  const told = await world.post("/blacklist/import?dry_run=true", { records }, { actor: admin });
  expect(told.body.data.guilds).toEqual([{ guild_id: bay.id, notify: 0, propose: 0, apply: 1, take_back: 0, waiting: 0 }]);
  expect(isBanned(bay, other)).toBe(false);
  const imported = await world.post("/blacklist/import", { records }, { actor: admin });
  expect(imported.body.data.guilds).toBeUndefined();
  await within(() => isBanned(bay, other));
  await revoke(imported.body.data.results[0].number);
  await within(() => !isBanned(bay, other));
  expect(bay.member(third)).toBeDefined();
});

test("who joined while the service was away is met after its start, and of a stranger memory alone tells that nobody lists them", async () => {
  const { world, bay, stance, list, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "kick" });
  const user = world.sandbox.createUser("late");
  await list(user);
  await world.app.stop();
  bay.addMember(user);
  await world.restart();
  await within(() => bay.member(user) === undefined);
  await within(async () => (await rows(user))[0]?.state === "done");
  bay.addMember(user);
  await within(() => bay.member(user) === undefined);
  expect(await rows(user)).toHaveLength(2);
  const stranger = world.member();
  const mayBeListed = ({ id }: { id: string }) => world.app.listSources.some(({ mayList }) => mayList(id));
  expect([mayBeListed(stranger), mayBeListed(user)]).toEqual([false, true]);
});

test("what was done is known for three months after it is over, and what stands is known for as long as it stands", async () => {
  const { world, bay, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const [user, other] = [world.sandbox.createUser("over"), world.sandbox.createUser("standing")];
  for (const one of [user, other]) bay.addMember(one);
  const { number } = await list(user);
  await list(other);
  await within(() => isBanned(bay, user) && isBanned(bay, other));
  await revoke(number);
  await within(async () => (await rows(user)).every(({ state }) => state === "undone" || state === "ended"));
  const age = (days: number) =>
    world.app.database.write(systemCall("job", uuid7()), ({ db, now }) =>
      db.listAction.updateMany({ data: { updatedAt: new Date(now.getTime() - days * 86_400_000) } }),
    );
  await age(89);
  await world.app.runJobs();
  expect(await rows(user)).not.toEqual([]);
  await age(91);
  await world.app.runJobs();
  expect(await rows(user)).toEqual([]);
  expect(await rows(other)).toMatchObject([{ state: "done", stance: "apply" }]);
  expect(isBanned(bay, other)).toBe(true);
});

test("A9: nobody decides what lists do to themselves, to an account of theirs, or to staff of their rank", async () => {
  const { world, bay, stance, list, owner, admin, rows } = await community({ ACTION_BREAKER: "1" });
  const exempting = `/guilds/${bay.id}/exemptions`;
  const own = { list: "own", category: "raid", stance: "apply", action: "ban" };
  await stance(bay, own);
  const senior = await world.staff("senior");
  for (const key of ["blacklist.update", "system.settings.manage", "blacklist.create", "blacklist.revoke"])
    await world.app.permissions.updateUser(systemCall("cli", uuid7()), senior.id, {
      overrides: [{ key, effect: "allow", reason: "For the raids of this week." }],
    });
  const second = world.sandbox.createUser("second account of the senior");
  const link = { confidence: "confirmed", kind: "declared_alt", basis: [{ type: "admission", note: "Said so." }], propagates: true };
  const linked = await world.post(`/users/${senior.id}/links`, { ...link, user_id: second.id }, { actor: admin });
  expect(linked.status, JSON.stringify(linked.body)).toBe(201);
  bay.addMember(second);
  await list(second);
  await within(() => isBanned(bay, second));
  await within(async () => (await rows(second))[0]?.state === "done");

  const add = (user: { id: string }, actor: typeof admin) =>
    world.post(exempting, { user_id: user.id, reason: "They are fine." }, { actor });
  for (const one of [second, senior]) expect((await add(one, senior)).body).toMatchObject({ status: 403, code: "conflict_of_interest" });
  expect((await add(admin, senior)).body.code).toBe("hierarchy_violation");
  // Rules that leave their own account alone.
  const rules = [{ ...own, stance: "ignore", action: null }];
  const put = () => world.put(`/guilds/${bay.id}/stance`, { rules }, { actor: senior });
  expect((await put()).body.code).toBe("conflict_of_interest");

  // One more is too many for this hour: confirming it, or undoing all of it, concerns them as well.
  const other = world.sandbox.createUser("somebody else");
  bay.addMember(other);
  await list(other);
  await within(async () => (await rows(other))[0]?.state === "held");
  expect((await world.post(`/guilds/${bay.id}/held-actions/undo`, undefined, { actor: senior })).body.code).toBe("conflict_of_interest");
  await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
  expect([isBanned(bay, second), isBanned(bay, other), await world.app.database.read.listExemption.count()]).toEqual([true, false, 0]);
  expect((await world.post(`/guilds/${bay.id}/held-actions/confirm`, undefined, { actor: senior })).status).toBe(200);

  expect((await add(second, owner)).status).toBe(201);
  const removed = await world.delete(`${exempting}/${second.id}`, undefined, { actor: senior });
  expect(removed.body.code).toBe("conflict_of_interest");
  await within(() => !isBanned(bay, second));
});
