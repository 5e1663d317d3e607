// @module-tag sqlite
// @module-tag slow
import { cp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import type { World, createWorld } from "../support/world.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const warning = `
import { z } from "zod";
import { Snowflake } from "../../../kernel/fields.ts";
import { effect } from "../effects/inputs.ts";
import { Reason } from "../requests/fields.ts";
import { day, kind, ofUser, snowflake, user } from "./kind.ts";

const WarningPayload = z
  .object({ user_id: Snowflake, reason: Reason, tone: z.enum(["friendly", "formal"]).default("formal"), points: z.int().min(0).max(3).default(1) })
  .meta({ id: "WarningPayload" });

export const warning = kind({
  label: "Warning",
  summary: "Tell a person that the next time counts.",
  prefix: "WRN",
  payload: WarningPayload,
  classes: { user_id: "public", reason: "public", tone: "public", points: "public" },
  aliases: ofUser,
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
  coolDown: 0,
  subjects: ({ user_id }) => [user(user_id)],
  title: ({ user_id, tone }) => \`A \${tone} warning of \${user_id}\`,
  effects: ({ user_id: userId, points, reason }) => [
    effect("case.append", { type: "punishment", subject: user(userId), text: reason }),
    effect("case.action", { userId, action: "warning", points, reason, length: undefined }),
  ],
  example: { user_id: snowflake, reason: "Called a colleague names." },
});
`;

/** The service with one kind more: its file, its name, and its place in the list. */
async function withTenthKind(): Promise<World> {
  const folder = join(root, "test", ".tenth-kind");
  const clear = () => rm(folder, { recursive: true, force: true });
  await clear();
  onTestFinished(clear);
  const generated = join(root, "src/generated");
  await cp(join(root, "src"), join(folder, "src"), { recursive: true, filter: (path) => path !== generated });
  await symlink(generated, join(folder, "src/generated"));
  await cp(join(root, "test/support"), join(folder, "test/support"), { recursive: true });
  await cp(join(root, "package.json"), join(folder, "package.json"));
  for (const name of ["prisma", "locales", "sandbox"]) await cp(join(root, name), join(folder, name), { recursive: true });
  const edit = async (path: string, ...changes: readonly (readonly [from: string, to: string])[]) => {
    let text = await readFile(join(folder, path), "utf8");
    for (const [from, to] of changes) {
      expect(text, `${path} has no ${from}`).toContain(from);
      text = text.replace(from, to);
    }
    await writeFile(join(folder, path), text);
  };
  await writeFile(join(folder, "src/features/workflows/kinds/warning.ts"), warning);
  await edit("src/kernel/vocabulary.ts", ['  "appeal",\n] as const;', '  "appeal",\n  "warning",\n] as const;']);
  await edit(
    "src/features/workflows/kinds/kinds.ts",
    ["import { punishment }", 'import { warning } from "./warning.ts";\nimport { punishment }'],
    ["  appeal,\n};", "  appeal,\n  warning,\n};"],
  );
  const made = (await import(/* @vite-ignore */ join(folder, "test/support/world.ts"))) as { createWorld: typeof createWorld };
  return await made.createWorld();
}

test(
  "a tenth kind is a file and its name: filed, approved, carried out and reversed over HTTP and by command",
  { timeout: 180_000 },
  async () => {
    const world = await withTenthKind();
    const [author, decider, admin] = [await world.staff("moderator"), await world.staff("senior"), await world.staff("admin")];
    for (const role of Object.values(world.roles)) world.guild.setRolePermissions(role, ["Administrator"]);
    const [first, second] = [world.member("Ann"), world.member("Bob")];
    const reason = "Called a colleague names.";
    const strikes = async (user: { id: string }) =>
      (await world.get(`/users/${user.id}/strikes`, { actor: admin })).body.data as { in_force: boolean; kind: string }[];
    const path = "/workflows/warning";

    // Over HTTP.
    const wrong = await world.post(path, { user_id: first.id, reason, points: 4 }, { actor: author });
    expect([wrong.status, wrong.body.errors.map(({ pointer }: { pointer: string }) => pointer)]).toEqual([422, ["/points"]]);
    const filed = await world.post(path, { user_id: first.id, reason }, { actor: author });
    expect(filed.body).toMatchObject({ success: true, reference: "WRN-REQ-000001", status: "pending" });
    expect(await strikes(first)).toEqual([]);
    const refused = await world.post(`${path}/WRN-REQ-000001/decision`, { decision: "approve" }, { actor: author });
    expect([refused.status, refused.body.code]).toEqual([403, "permission_denied"]);
    const approved = await world.post(`${path}/WRN-REQ-000001/decision`, { decision: "approve" }, { actor: decider });
    expect(approved.body).toMatchObject({ success: true, status: "approved" });
    expect(await strikes(first)).toMatchObject([{ kind: "warning", points: 1, in_force: true }]);
    const reversed = await world.post(
      `${path}/WRN-REQ-000001/decision`,
      { decision: "reverse", reason: "It was somebody else." },
      { actor: admin },
    );
    expect(reversed.body).toMatchObject({ success: true, status: "reversed" });
    expect((await strikes(first)).filter(({ in_force: counts }) => counts)).toEqual([]);

    // By command: the options are those of the payload.
    const as = (user: typeof author) => world.sandbox.as(user).in(world.guild);
    const form = await as(author).runSlashCommand("request warning", { "user-id": second, tone: "friendly", points: 2 });
    expect((await (await form.submitModal({ reason })).reply()).content).toContain("WRN\\-REQ\\-000002");
    const question = await as(decider).runSlashCommand("review approve", { reference: "WRN-REQ-000002" });
    await question.reply();
    await question.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => question.current()?.components.length === 0);
    expect(question.current()?.content).toContain("is approved");
    expect(await strikes(second)).toMatchObject([{ kind: "warning", points: 2, in_force: true }]);
    const takenBack = await as(admin).runSlashCommand("review reverse", { reference: "WRN-REQ-000002" });
    await (await takenBack.submitModal({ reason: "It was somebody else." })).reply();
    expect((await strikes(second)).filter(({ in_force: counts }) => counts)).toEqual([]);

    expect((await world.get("/workflows/types", { actor: admin })).body.data.types.map(({ type }: { type: string }) => type)).toContain(
      "warning",
    );
    expect((await world.get("/permissions/catalog", { actor: admin })).body.data.map(({ key }: { key: string }) => key)).toContain(
      "workflows.warning.reverse",
    );
    expect((await world.get("/audit/verify")).body.data).toMatchObject({ ok: true });
  },
);
