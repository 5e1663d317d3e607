// @module-tag postgres
// @module-tag slow
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { freePort } from "../support/free-port.ts";
import { eventually } from "./cluster.ts";
import { createGround, expectWholeChain, type Ground } from "./ground.ts";
import { expectEachOnce, expectFirstAnswers, startLoad } from "./load.ts";

const read = (name: string): string => readFileSync(fileURLToPath(new URL(`../../deploy/cluster/${name}`, import.meta.url)), "utf8");
const addresses = /10\.0\.0\.1([12]):8080/g;

interface Place {
  folder: string;
  port: number;
  /** `host:port` of the two servers. */
  servers: readonly string[];
}

/** The example, with the addresses of a test in it and without TLS. @returns the arguments that start it */
const proxies: Readonly<Record<string, (place: Place) => Promise<string[]>>> = {
  async caddy({ folder, port, servers }) {
    const file = join(folder, "Caddyfile");
    const text = read("Caddyfile")
      .replace("provost.example.org {", `http://127.0.0.1:${port.toString()} {`)
      .replaceAll(addresses, (_, number: string) => servers[Number(number) - 1] ?? "");
    await writeFile(file, `{\n\tadmin off\n}\n${text}`);
    return ["run", "--adapter", "caddyfile", "--config", file];
  },
  async nginx({ folder, port, servers }) {
    const text = read("nginx.conf")
      .replace(/server \{\s+listen 80;[^}]+\}/, "")
      .replaceAll(/^ *(?:ssl_\w+|listen \[::\]:443) .*$/gm, "")
      .replace("listen 443 ssl http2;", `listen 127.0.0.1:${port.toString()};`)
      .replaceAll(addresses, (_, number: string) => servers[Number(number) - 1] ?? "");
    const folders = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) => `${name}_temp_path ${folder}/${name};`);
    const file = join(folder, "nginx.conf");
    await mkdir(join(folder, "conf.d"));
    await writeFile(join(folder, "conf.d", "provost.conf"), text);
    const http = `${folders.join(" ")} access_log off; include ${folder}/conf.d/*.conf;`;
    await writeFile(file, `daemon off; pid ${folder}/pid; error_log stderr; events {} http { ${http} }`);
    return ["-p", folder, "-c", file];
  },
};

async function startProxy(name: string, ground: Ground): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "provost-proxy-"));
  const port = await freePort();
  const servers = ground.nodes.map(({ url }) => new URL(url).host);
  const argv = await proxies[name]?.({ folder, port, servers });
  const child: ChildProcess = spawn(name, argv ?? [], { stdio: ["ignore", "pipe", "pipe"], env: { ...process.env, HOME: folder } });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream?.on("data", (part: Buffer) => (said += part.toString()));
  const ended = once(child, "exit");
  onTestFinished(async () => {
    child.kill("SIGTERM");
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port.toString()}`;
  const answers = () =>
    fetch(`${url}/readyz`).then(
      ({ status }) => status === 200,
      () => false,
    );
  await eventually(answers, 15_000).catch(() => expect.fail(`${name} does not answer: ${said}`));
  return url;
}

describe.each(Object.keys(proxies))("two servers behind the example of %s", (name) => {
  test.skipIf(inject("dialect") !== "postgres" || spawnSync(name, ["-v"]).error !== undefined)(
    "are restarted one after the other, and their clients notice nothing that a retry does not mend; events come at once",
    async () => {
      const ground = await createGround({ nodes: 2, onEnd: onTestFinished });
      const url = await startProxy(name, ground);
      expect((await fetch(`${url}/metrics`)).status).toBe(404);

      const ask = ground.askerOf(url);
      const streaming = new AbortController();
      const headers = {
        authorization: `Bearer ${ground.world.key}`,
        "x-acting-user": ground.prepared.owner.id,
        accept: "text/event-stream",
      };
      const stream = await fetch(`${url}/events`, { headers, signal: streaming.signal });
      expect(stream.headers.get("content-type")).toContain("text/event-stream");
      const reader = stream.body?.getReader();
      const heard = (async () => {
        for (let text = ""; ;) {
          text += Buffer.from((await reader?.read())?.value ?? []).toString();
          if (text.includes("case.opened")) return performance.now();
        }
      })();
      const opened = await ask(
        "POST",
        "/cases",
        { title: "Seen by whoever follows", subjects: [{ kind: "user", id: ground.prepared.subject.id }] },
        { actor: ground.prepared.admins[0] ?? ground.prepared.owner },
      );
      expect(opened.status, JSON.stringify(opened.body)).toBe(201);
      const answered = performance.now();
      expect((await heard) - answered).toBeLessThan(2000);
      streaming.abort();

      const load = startLoad(ground, [{ ask }]);
      for (const node of ground.nodes) {
        await delay(1000);
        expect(await node.stop("SIGTERM")).toBe(0);
        await node.start();
        // What the proxy holds against it is forgotten by then.
        await delay(6000);
      }
      await load.stop();
      const tries = load.acknowledged.map((one) => one.tries);
      process.stdout.write(
        `${name}: ${tries.length.toString()} writes, ${tries.filter((one) => one > 1).length.toString()} of them sent again\n`,
      );
      await expectEachOnce(ground, load);
      await expectFirstAnswers(ground, load, 100);
      await expectWholeChain(ground);
    },
  );
});
