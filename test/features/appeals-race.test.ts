// @module-tag postgres
import { expect, test } from "vitest";
import { sizeOf } from "../support/size.ts";
import { createAppealsGround, grounds, sendTo } from "./appeals-ground.ts";

test("of many appeals against one decision at a time, under all its names and from every side, one is filed", async () => {
  const { world, judge, signIn, send, appeals, decide, forward } = await createAppealsGround();
  const filer = await world.staff("senior");
  for (let round = 0; round < sizeOf({ quick: 1, all: 5, long: 50 }); round += 1) {
    const ann = world.member();
    const body = { user_id: ann.id, category: "raid", severity: "high", scope: "network", reason: "Took part in the raid of Monday." };
    const { reference } = (await world.post("/workflows/blacklist-user", body, { actor: filer })).body;
    for (const actor of [judge, await world.staff("owner")])
      await decide("blacklist-user", reference, { decision: "approve", reason: "Seen by three people." }, actor).catch(() => undefined);
    const record = await world.app.database.read.blacklistRecord.findFirstOrThrow({ where: { originReference: reference } });
    const names = [reference, record.id, `BL-${record.number.toString().padStart(6, "0")}`];
    const browser = await signIn(ann);
    const before = await appeals();
    const forms = await Promise.all([...names, ...names].map((name) => send(sendTo(name), browser, { texts: { grounds } })));
    const filed = (await appeals()).slice(before.length);
    expect([filed.length, filed[0]?.status, filed[0]?.requesterId]).toEqual([1, "pending", ann.id]);
    expect(forms.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 409, 409, 409, 409, 409]);
    const own = filed[0]?.reference ?? "";
    for (const { status, text } of forms) if (status === 409) expect(text).toContain(own);
    // An address sends only so many forms an hour.
    forward(3600);
  }
});
