import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { accessEnvelope, envelope, type Target } from "../target.ts";

const request = { paths: ["/staff/80351110224678912/access"], headers: {} };

/** Node's own server, answering the same bytes and doing nothing else. */
export const bare: Target = { request, start: () => start(() => envelope) };

/** The same with the bytes of a moderator's access answer. */
export const bareAccess: Target = { request, start: () => start(() => accessEnvelope) };

const given = new Map<string, object>();

/** The same with an answer of its own for each path, handed over once it runs. */
export const bareAnswers: Target = {
  request,
  start: () => start((path) => given.get(path)),
  tasks: {
    take(answers: Readonly<Record<string, object>>): void {
      for (const [path, answer] of Object.entries(answers)) given.set(path, answer);
    },
  },
};

function start(find: (path: string) => object | undefined): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer((request, response) => {
      const answer = find(request.url ?? "");
      const body = JSON.stringify(answer ?? {});
      response.writeHead(answer === undefined ? 404 : 200, {
        "Content-Type": "application/json",
        "Content-Length": Buffer.byteLength(body),
      });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
