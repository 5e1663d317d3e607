import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { accessEnvelope, envelope, type Target } from "../target.ts";

const request = { path: "/staff/80351110224678912/access", headers: {} };

/** Node's own server, answering the same bytes and doing nothing else. */
export const bare: Target = { request, start: () => start(envelope) };

/** The same with the bytes of a moderator's access answer. */
export const bareAccess: Target = { request, start: () => start(accessEnvelope) };

function start(answer: object): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer((_request, response) => {
      const body = JSON.stringify(answer);
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    });
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
  });
}
