// @module-tag postgres
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { sizeOf } from "../support/size.ts";
import { createAppealsGround, grounds } from "./appeals-ground.ts";

test("a record that is suspended, changed, revoked and swept at a time ends in one of the states that these lead to", async () => {
  const { world, judge, decide } = await createAppealsGround();
  const [filer, owner, other] = [await world.staff("senior"), await world.staff("owner"), await world.staff("owner")];
  const sweep = () => world.app.workflows.resumeDue(systemCall("job", uuid7()));
  for (let round = 0; round < sizeOf({ quick: 2, all: 8, long: 100 }); round += 1) {
    const ann = world.member();
    const body = { user_id: ann.id, category: "raid", severity: "low", scope: "network", reason: "Took part in the raid of Monday." };
    const origin = (await world.post("/workflows/blacklist-user", body, { actor: filer })).body.reference;
    await decide("blacklist-user", origin, { decision: "approve", reason: "Seen by three people." });
    await decide("blacklist-user", origin, { decision: "approve", reason: "Seen by three people." }, other);
    const record = await world.app.database.read.blacklistRecord.findFirstOrThrow({ where: { originReference: origin } });
    const appeal = { target: round % 2 === 0 ? origin : record.id, grounds, user_id: ann.id, suspend: true };
    const all = await Promise.all([
      world.post("/workflows/appeal", appeal, { actor: judge }),
      world.patch(`/blacklist/${record.id}`, { severity: "medium" }, { actor: owner }),
      sweep(),
      ...(round % 4 < 2 ? [world.delete(`/blacklist/${record.id}`, { reason: "It was somebody else." }, { actor: other })] : []),
    ]);
    const answers = all.filter((one) => typeof one !== "number").map(({ status }) => status);
    expect(answers.filter((status) => ![200, 201, 409, 422].includes(status))).toEqual([]);
    const statusNow = async () => (await world.get(`/blacklist/${record.id}`, { actor: judge })).body.data.status;
    const isFiled = answers[0] === 201;
    expect(await statusNow()).toBe(round % 4 < 2 ? "revoked" : isFiled ? "suspended" : "active");
    if (!isFiled) continue;
    const [name] = all;
    const reference = typeof name === "number" ? "" : name?.body.reference;
    const ends = await Promise.all([
      world.post(`/workflows/appeal/${reference}/decision`, { decision: "deny", reason: "We looked: it stands." }, { actor: owner }),
      sweep(),
    ]);
    expect(ends[0].status).toBe(200);
    expect(await statusNow()).toBe(round % 4 < 2 ? "revoked" : "active");
  }
});
