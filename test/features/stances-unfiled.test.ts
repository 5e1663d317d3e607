// @module-tag both
import { expect, inject, test } from "vitest";
import { execute } from "../database/sql.ts";
import { inWords } from "../../src/kit/say.ts";
import { community, isBanned, within } from "./stances-community.ts";

/** From now on the database takes no request about somebody. */
function refuseRequests(url: string, userId: string): Promise<void> {
  const on = "BEFORE INSERT ON workflow_subjects";
  if (inject("dialect") === "sqlite")
    return execute(
      url,
      `CREATE TRIGGER test_refuses ${on} WHEN NEW.subject_id = '${userId}' BEGIN SELECT RAISE(ABORT, 'not this one'); END`,
    );
  return execute(
    url,
    `CREATE FUNCTION test_refuses() RETURNS trigger AS $$ BEGIN IF NEW.subject_id = '${userId}' THEN RAISE 'not this one'; END IF; RETURN NEW; END $$ LANGUAGE plpgsql;
     CREATE TRIGGER test_refuses ${on} FOR EACH ROW EXECUTE FUNCTION test_refuses()`,
  );
}

test("a proposal that cannot be written ends as failed with its reason, and others and the bot's own actions go on", async () => {
  const lines: string[] = [];
  const { world, bay, cove, admin, stance, list, rows } = await community({}, { log: (line) => void lines.push(line) });
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  await stance(cove, { category: "raid", stance: "propose", action: "kick" });
  const [bad, good] = [world.sandbox.createUser("bad"), world.sandbox.createUser("good")];
  await refuseRequests(world.databaseUrl, bad.id);
  for (const user of [bad, good]) {
    await list(user);
    for (const guild of [cove, bay]) guild.addMember(user);
  }
  await within(async () => (await rows(good)).every(({ state }) => state === "done") && isBanned(bay, bad) && isBanned(bay, good));
  await within(async () => (await rows(bad)).some(({ state }) => state === "failed"));
  const reason = "The request could not be filed. The log says why.";
  expect(inWords((await rows(bad)).find(({ stance: kind }) => kind === "propose"))).toMatchObject({ state: "failed", lastError: reason });
  expect((await rows(good)).find(({ stance: kind }) => kind === "propose")).toMatchObject({ state: "done", lastError: null });
  const shown = await world.get(`/guilds/${cove.id}/list-actions`, { actor: admin });
  expect([shown.status, JSON.stringify(shown.body)]).toEqual([200, expect.stringContaining(reason)]);
  expect(lines.join("\n")).toContain("not this one");
});
