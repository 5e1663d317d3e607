import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { envelope, type Target } from "../target.ts";

/** Node's own server, answering the same bytes and doing nothing else. */
export const bare: Target = {
  request: { path: "/staff/80351110224678912/access", headers: {} },
  start: () =>
    new Promise((resolve) => {
      const server = createServer((_request, response) => {
        const body = JSON.stringify(envelope);
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
        response.end(body);
      });
      server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port));
    }),
};
