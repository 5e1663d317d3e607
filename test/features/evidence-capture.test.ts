import { hash, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { readdir } from "node:fs/promises";
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { allowedAddress, createAttachments, originOnThisMachine } from "../../src/discord/rest/attachments.ts";
import type { GuildHandle, Message, User } from "../../sandbox/index.ts";
import { everyRow, shareWorld } from "../contract/world.ts";
import { contentIntents, download, listSomebody } from "./evidence-ground.ts";

const shared = shareWorld({ env: { EVIDENCE_MAX_BYTES: "100000" } });
let admin: User;
let witness: User;
let path: string;

beforeAll(async () => {
  const { world } = shared;
  admin = await world.staff("admin");
  witness = world.member("witness-name");
});

beforeEach(async () => {
  const { world } = shared;
  world.sandbox.setPrivilegedIntents(contentIntents);
  world.sandbox.faults.clear();
  path = await listSomebody(world, admin);
});

type Posting = Parameters<ReturnType<ReturnType<typeof shared.world.sandbox.as>["in"]>["post"]>[0];
const post = (posting: Posting, guild: Pick<GuildHandle, "id"> = shared.world.guild): Message =>
  shared.world.sandbox.as(witness).in(guild).post(posting);
const addressOf = ({ channelId, id }: Message) => ({ kind: "message", message: { channel_id: channelId, message_id: id } });
const capture = (input: object) => shared.world.post(`${path}/evidence`, input, { actor: admin });

describe("a message", () => {
  test("is fetched by the service itself, with the bytes of its attachments, and without anybody's name", async () => {
    const { world } = shared;
    const bytes = randomBytes(3000);
    const message = post({
      content: "I will raid you",
      attachments: [
        { name: "..\\plan.txt", bytes: Buffer.from("at eight") },
        { name: "b.bin", bytes },
      ],
    });
    const { status, body } = await capture({ ...addressOf(message), title: "The threat" });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({
      kind: "message",
      title: "The threat",
      verified: true,
      file: null,
      message: {
        guild_id: world.guild.id,
        channel_id: message.channelId,
        message_id: message.id,
        author_id: witness.id,
        content: "I will raid you",
        edited_at: null,
        attachments: [
          { position: 0, name: "plan.txt", mime: "text/plain", bytes: 8, sha256: hash("sha256", "at eight"), status: "stored" },
          { position: 1, name: "b.bin", mime: "application/octet-stream", bytes: 3000, sha256: hash("sha256", bytes), status: "stored" },
        ],
      },
    });
    expect(body.data.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(JSON.stringify(await world.app.database.read.evidenceItem.findMany())).not.toContain("witness-name");
    expect((await download(world, body.data.id, 1, admin)).bytes.equals(bytes)).toBe(true);
    expect(world.sandbox.downloads.slice(-2).map((one) => one.status)).toEqual([200, 200]);

    const redacted = await world.post(`/evidence/${body.data.id as string}/redact`, { reason: "Names a child." }, { actor: admin });
    expect(redacted.body.data).toMatchObject({
      sha256: null,
      verified: true,
      message: { author_id: witness.id, content: null, sent_at: body.data.message.sent_at },
    });
    expect(redacted.body.data.message.attachments.map((file: { status: string; name: null }) => [file.status, file.name])).toEqual([
      ["redacted", null],
      ["redacted", null],
    ]);
    expect(JSON.stringify(await everyRow(world))).not.toMatch(/I will raid you|plan\.txt/);
  });

  test("is found by its link as well", async () => {
    const message = post({ content: "hello" });
    const link = `https://discord.com/channels/${shared.world.guild.id}/${message.channelId}/${message.id}`;
    const { status, body } = await capture({ kind: "message", message_url: link });
    expect([status, body.data.message.content, body.data.verified]).toEqual([201, "hello", true]);
  });

  test("keeps what it was when it is changed and deleted later", async () => {
    const message = post({ content: "before" });
    const { body } = await capture(addressOf(message));
    message.content = "after";
    expect((await shared.world.get(`/evidence/${body.data.id as string}`, { actor: admin })).body.data.message.content).toBe("before");
  });

  test.each([
    [
      "that does not exist",
      () => ({ kind: "message", message: { channel_id: post({ content: "x" }).channelId, message_id: "80351110224678912" } }),
      "/message/message_id",
    ],
    [
      "in a channel that does not exist",
      () => ({ kind: "message", message: { channel_id: "80351110224678912", message_id: "80351110224678912" } }),
      "/message/message_id",
    ],
    [
      "in a server that is not ours",
      () => {
        const other = shared.world.sandbox.createGuild({ name: "Elsewhere" });
        other.addMember(witness);
        return addressOf(post({ content: "not yours" }, other));
      },
      "/message/message_id",
    ],
    [
      "in a server the bot has left",
      () => {
        const other = shared.world.sandbox.createGuild({ name: "Left", withBot: false });
        other.addMember(witness);
        return addressOf(post({ content: "not yours" }, other));
      },
      "/message/message_id",
    ],
  ])("%s is refused alike, and nothing is kept", async (_name, make, pointer) => {
    const { status, body } = await capture(make());
    expect([status, body.errors]).toEqual([422, [{ pointer, in: "body", code: "not_found", detail: expect.any(String) }]]);
    expect((await shared.world.get(`${path}/evidence`, { actor: admin })).body.data).toEqual([]);
  });

  test("in a channel Discord does not show the acting person is refused like one that does not exist", async () => {
    const { world } = shared;
    const hidden = world.guild.createChannel("owners", { hiddenFrom: [world.guild.everyoneRole] });
    const staffOnly = world.guild.createChannel("staff", { hiddenFrom: [world.roles.admin] });
    for (const channel of [hidden, staffOnly]) {
      const message = post({ content: "not for admins", channel });
      const { status, body } = await capture(addressOf(message));
      expect([status, body.errors[0].code]).toEqual([422, "not_found"]);
      const asked = world.sandbox.exchanges.filter(({ path: at }) => at.endsWith(`/messages/${message.id}`));
      expect(asked).toEqual([]);
    }
    const outsider = await world.staff("senior");
    world.guild.setRoles(outsider, [world.roles.senior, world.guild.createRole("all", { permissions: ["Administrator"] })]);
    const seen = await world.post(`${path}/evidence`, addressOf(post({ content: "for all", channel: hidden })), { actor: outsider });
    expect([seen.status, seen.body.data?.message.content]).toEqual([201, "for all"]);
  });

  test("that Discord shows nothing of is refused, with what to do about it", async () => {
    shared.world.sandbox.setPrivilegedIntents(2);
    const { status, body } = await capture(addressOf(post({ content: "unseen" })));
    expect([status, body.errors[0].code]).toEqual([422, "empty_message"]);
    expect(body.errors[0].detail).toContain("Message Content Intent");
  });

  test("is not fetched for those who may not add to the record", async () => {
    const { world } = shared;
    const message = post({ content: "x" });
    const before = world.sandbox.exchanges.filter(({ route }) => route?.includes("/messages/") === true).length;
    const key = await world.makeKey(["evidence.add"]);
    const refused = [
      await world.post(`${path}/evidence`, addressOf(message), { actor: admin, key }),
      await world.post("/blacklist/BL-999999/evidence", addressOf(message), { actor: admin }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 404]);
    expect(world.sandbox.exchanges.filter(({ route }) => route?.includes("/messages/") === true)).toHaveLength(before);
  });
});

describe("an attachment", () => {
  test("that is gone, or larger than is kept, stays as a name and a size", async () => {
    const { world } = shared;
    world.sandbox.faults.rest({ route: "GET /attachments/:channel/:id/:name", status: 404 });
    const message = post({
      content: "look",
      attachments: [
        { name: "gone.png", bytes: randomBytes(10) },
        { name: "announced.bin", bytes: randomBytes(10), announcedSize: 5_000_000 },
        { name: "lied.bin", bytes: randomBytes(150_000), announcedSize: 10 },
        { name: "kept.txt", bytes: Buffer.from("kept") },
      ],
    });
    const asked = world.sandbox.downloads.length;
    const { status, body } = await capture(addressOf(message));
    expect(status).toBe(201);
    const files = body.data.message.attachments.map(({ name, bytes, sha256, status: is }: Record<string, unknown>) => ({
      name,
      bytes,
      is,
      kept: sha256 !== null,
    }));
    expect(files).toEqual([
      { name: "gone.png", bytes: 10, is: "missing", kept: false },
      { name: "announced.bin", bytes: 5_000_000, is: "too_large", kept: false },
      { name: "lied.bin", bytes: 10, is: "too_large", kept: false },
      { name: "kept.txt", bytes: 4, is: "stored", kept: true },
    ]);
    expect(world.sandbox.downloads.slice(asked).map((one) => one.status)).toEqual([404, 200, 200]);
    expect(await readdir(world.app.evidence.arriving)).toEqual([]);
    expect((await download(world, body.data.id, 0, admin)).status).toBe(404);
  });

  test("beyond the tenth is left out, which the piece says", async () => {
    const attachments = Array.from({ length: 12 }, (_, index) => ({
      name: `${index.toString()}.txt`,
      bytes: Buffer.from(index.toString()),
    }));
    const { body } = await capture(addressOf(post({ attachments })));
    expect(body.data.message.attachments).toHaveLength(10);
    expect(body.data.message.parts.gaps).toEqual([{ at: "/attachments", why: "cut", count: 2 }]);
  });

  test("at any other address than Discord's is never asked for", async () => {
    let hits = 0;
    const trap = createServer((_request, response) => {
      hits += 1;
      response.end("secret");
    });
    await new Promise<void>((resolve) => trap.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void trap.close());
    const port = (trap.address() as AddressInfo).port.toString();
    const { world } = shared;
    const own = new URL(world.url).port;
    const sandboxHost = `127.0.0.1:${world.sandbox.port.toString()}`;
    const addresses = [
      `http://127.0.0.1:${port}/a`,
      `https://127.0.0.1:${port}/a`,
      `http://localhost:${port}/a`,
      `http://[::1]:${port}/a`,
      `http://0x7f000001:${port}/a`,
      `http://2130706433:${port}/a`,
      `http://127.1:${port}/a`,
      `http://${sandboxHost}@127.0.0.1:${port}/a`,
      `http://user:pw@${sandboxHost}/attachments/1/2/a`,
      `http://127.0.0.1:${port}\\@cdn.discordapp.com/a`,
      `http://127.0.0.1:${port}#@cdn.discordapp.com/a`,
      `http://localhost:${world.sandbox.port.toString()}/attachments/1/2/a`,
      `http://127.0.0.1:${own}/health`,
      "http://169.254.169.254/latest/meta-data",
      "file:///etc/passwd",
      "data:text/plain,secret",
    ];
    const asked = world.sandbox.downloads.length;
    for (let from = 0; from < addresses.length; from += 8) {
      const attachments = addresses.slice(from, from + 8).map((url) => ({ name: "a", bytes: Buffer.from("x"), url }));
      const { status, body } = await capture(addressOf(post({ attachments })));
      expect([status, new Set(body.data.message.attachments.map((file: { status: string }) => file.status))]).toEqual([
        201,
        new Set(["missing"]),
      ]);
    }
    expect(hits).toBe(0);
    expect(world.sandbox.downloads).toHaveLength(asked);
  });

  test.each([
    ["https://cdn.discordapp.com/attachments/1/2/a.png?ex=1&hm=2", true],
    ["https://media.discordapp.net/attachments/1/2/a.png", true],
    ["https://images-ext-1.discordapp.net/external/a/https/example.org/a.png", true],
    ["https://images-ext-2.discordapp.net/external/a/https/example.org/a.png", true],
    ["https://images-ext-1.discordapp.net.evil.example/a", false],
    ["http://cdn.discordapp.com/a", false],
    ["https://cdn.discordapp.com:8443/a", false],
    ["https://user@cdn.discordapp.com/a", false],
    ["https://:pw@cdn.discordapp.com/a", false],
    ["https://cdn.discordapp.com.evil.example/a", false],
    ["https://evil-cdn.discordapp.com/a", false],
    ["https://cdn.discordapp.com./a", false],
    ["https://evil.example/cdn.discordapp.com", false],
    ["https://evil.example\\@cdn.discordapp.com/a", false],
    ["https://evil.example#@cdn.discordapp.com/a", false],
    ["https://evil.example?@cdn.discordapp.com/a", false],
    ["https://cdn.discordapp.com%2f@evil.example/a", false],
    ["https://cdn.discordapp.com\n.evil.example/a", false],
    [" https://cdn.discordapp.com/a", false],
    ["//cdn.discordapp.com/a", false],
    ["ftp://cdn.discordapp.com/a", false],
    ["http://127.0.0.1:80/a", false],
    ["", false],
  ])("at %j: asked for is %s", (address, isAllowed) => {
    expect(allowedAddress(address, undefined) !== undefined).toBe(isAllowed);
  });

  test("at the sandbox counts as Discord's only where the API itself is on this machine", () => {
    expect(originOnThisMachine("http://127.0.0.1:4000/api")).toBe("http://127.0.0.1:4000");
    expect(originOnThisMachine("http://localhost:4000/api")).toBe("http://localhost:4000");
    for (const address of ["https://discord.com/api", "http://127.0.0.1.evil.example/api", "http://10.0.0.1/api"])
      expect(originOnThisMachine(address)).toBeUndefined();
  });

  test("that answers with a redirect, or packed, is not followed and not kept", async () => {
    let followed = 0;
    const local = createServer((request, response) => {
      if (request.url === "/target") followed += 1;
      if (request.url === "/packed") response.writeHead(200, { "content-encoding": "gzip" });
      else if (request.url === "/moved") response.writeHead(302, { location: "/target" });
      response.end("x");
    });
    await new Promise<void>((resolve) => local.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void local.close());
    const origin = `http://127.0.0.1:${(local.address() as AddressInfo).port.toString()}`;
    const source = createAttachments({ apiBase: `${origin}/api` });
    const { signal } = new AbortController();
    expect(await source.open(`${origin}/moved`, signal)).toBeUndefined();
    expect(await source.open(`${origin}/packed`, signal)).toBeUndefined();
    expect(followed).toBe(0);
    const open = await source.open(`${origin}/plain`, signal);
    expect(Buffer.concat((await open?.toArray()) as Buffer[]).toString()).toBe("x");
  });
});

// Last: after such a failure look-ups rest for a while.
test("a message cannot be captured while Discord does not answer, and nothing is written", async () => {
  const message = post({ content: "x" });
  shared.world.sandbox.faults.rest({ route: "GET /channels/:id", status: 503, times: 10 });
  const { status, body } = await capture(addressOf(message));
  expect([status, body.code]).toEqual([503, "discord_unavailable"]);
  expect((await shared.world.get(`${path}/evidence`, { actor: admin })).body.data).toEqual([]);
});
