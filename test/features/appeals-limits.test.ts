// @module-tag slow
import { describe, expect, test } from "vitest";
import { maxFileBytes, maxPerDay, perAddress } from "../../src/features/workflows/appeals/appeal-form.ts";
import { createAppealsGround as createGround, file, grounds, png, sendTo } from "./appeals-ground.ts";

describe("what limits appeals", () => {
  test("after a denial and after the deadline nothing is filed, and the page says until when", async () => {
    const { world, judge, punish, decide, signIn, open, send, appeals, forward } = await createGround();
    const ann = world.member("Ann");
    const [denied, late] = [await punish(ann), await punish(ann, { appeal_until: "P2D" })];
    let browser = await signIn(ann);
    expect((await send(sendTo(denied), browser)).status).toBe(303);
    const [first] = await appeals();
    await decide("appeal", first?.reference ?? "", { decision: "deny", reason: "We looked at it again: it stands." }, judge);
    const status = await open(`/appeal/status/${first?.reference ?? ""}`, browser);
    expect(status.text).toContain("Your appeal was denied.");
    expect(status.text).toContain("We looked at it again: it stands.");
    forward(2 * 86_400 + 60);
    browser = await signIn(ann);
    for (const [target, says] of [
      [denied, "You can appeal again from"],
      [late, "The time to appeal this ended on"],
    ] as const) {
      expect((await open(`/appeal/decision/${target}`, browser)).text).toContain(says);
      expect((await send(sendTo(target), browser)).status).toBe(409);
    }
    // Nor do staff file it for her, or she herself by command.
    const filed = await world.post("/workflows/appeal", { target: late, grounds, user_id: ann.id }, { actor: judge });
    expect([filed.status, filed.body.errors]).toEqual([422, [expect.objectContaining({ pointer: "/target", code: "appeal_over" })]]);
    expect(filed.body.errors[0].detail).toMatch(/^The time to appeal this ended at \d{4}-/);
    world.guild.allowCommands([world.guild.everyoneRole], "request");
    const asked = await world.sandbox.as(ann).in(world.guild).runSlashCommand("request appeal", { target: late });
    expect((await (await asked.submitModal({ grounds })).reply()).content).toMatch(/The time to appeal this ended at <t:\d+/);
    expect(await appeals()).toHaveLength(1);
    forward(31 * 86_400);
    browser = await signIn(ann);
    expect((await open(`/appeal/decision/${denied}`, browser)).text).toContain("The time to appeal this ended on");
  });

  test("files that are too many, too large or of another kind are told by name, and nothing of them stays", async () => {
    const { world, punish, signIn, send, appeals } = await createGround();
    const ann = world.member("Ann");
    const reference = await punish(ann);
    const browser = await signIn(ann);
    const many = await send(sendTo(reference), browser, { files: ["a", "b", "c", "d"].map((name) => file(`${name}.png`)) });
    const large = await send(sendTo(reference), browser, { files: [file("big.png", Buffer.concat([png, Buffer.alloc(maxFileBytes)]))] });
    const wrong = await send(sendTo(reference), browser, {
      files: [file("proof.png"), file("tool.png", Buffer.from("4d5a9000030000000400", "hex"))],
    });
    expect([many.status, large.status, wrong.status]).toEqual([422, 422, 422]);
    expect(many.text).toContain("At most 3 files");
    expect(large.text).toContain("big.png is too large: a file holds at most 10 MB");
    expect(wrong.text).toContain("tool.png is no image, PDF, text or video.");
    for (const { text } of [many, large, wrong]) expect(text).toContain(grounds);
    expect([await appeals(), await world.app.database.read.evidenceFile.count()]).toEqual([[], 0]);
  });

  test("one person has few appeals open and files few a day, and one address sends few forms an hour; all are told what to do", async () => {
    const { world, punish, signIn, open, send, appeals } = await createGround();
    const ann = world.member("Ann");
    const references: string[] = [];
    for (let count = 0; count <= maxPerDay; count += 1) references.push(await punish(ann));
    const browser = await signIn(ann);
    const sent: number[] = [];
    for (const reference of references) sent.push((await send(sendTo(reference), browser)).status);
    expect(sent).toEqual([...Array.from({ length: maxPerDay }, () => 303), 429]);
    const [last = ""] = references.slice(-1);
    const full = await send(sendTo(last), browser);
    expect([full.text.includes("You have 5 open appeals."), full.text.includes(grounds)]).toEqual([true, true]);
    // One taken back is open no more, and was filed today all the same.
    const [first] = await appeals();
    const withdrawn = await send(`/appeal/status/${first?.reference ?? ""}/withdraw`, browser, { texts: { sure: "yes" }, isPlain: true });
    expect(withdrawn.status).toBe(303);
    expect((await open(sendTo(last), browser)).text).toContain("You have filed 5 appeals within a day. You can file this one in 24 hours.");
    expect([(await send(sendTo(last), browser)).status, (await appeals()).length]).toEqual([429, maxPerDay]);
    const left = perAddress.count - references.length - 2;
    for (let count = 0; count < left; count += 1) await send(sendTo("PUN-REQ-999999"), browser);
    const often = await send(sendTo(last), browser, { files: [file("proof.png")] });
    expect([often.status, often.text.includes("Too many forms were sent in a short time."), often.text.includes(grounds)]).toEqual([
      429,
      true,
      true,
    ]);
    expect(await appeals()).toHaveLength(maxPerDay);
  });
});
