import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { verifyWebhook, type WebhookMessage } from "provost/client";

const { WEBHOOK_SECRET: secret, PORT: port = "4000" } = process.env;
if (secret === undefined) throw new Error("Set WEBHOOK_SECRET to the secret that POST /webhooks answered.");
const known = secret;
const most = 1024 * 1024;
/** Ids that were seen. A real receiver keeps them where it keeps what it makes of the events, in one transaction. */
const seen = new Set<string>();

/** What happened, once for each event. */
function handle({ type, timestamp, data }: WebhookMessage): void {
  if ("next" in data) console.log(`Events after ${data.after} and before ${data.next} are lost: read everything anew.`);
  else console.log(timestamp, type, JSON.stringify(data));
}

async function textOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request as AsyncIterable<Buffer>) {
    bytes += part.length;
    if (bytes > most) throw new Error("The body is too long.");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

/** @returns the status that is answered */
async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== "POST") return 405;
  let message: WebhookMessage;
  try {
    message = verifyWebhook(known, request.headers, await textOf(request));
  } catch (error) {
    console.error("Refused:", error instanceof Error ? error.message : error);
    return 400;
  }
  const id = String(request.headers["webhook-id"]);
  if (!seen.has(id)) {
    handle(message);
    seen.add(id);
  }
  return 204;
}

const server = createServer((request, response) => void receive(request).then((status) => response.writeHead(status).end()));
server.listen(Number(port), "127.0.0.1", () => {
  console.log(`Waiting for web-hooks at http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}/`);
});
