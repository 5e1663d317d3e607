import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Webhook as Verifier } from "standardwebhooks";
import { onTestFinished } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { judgeWords } from "../support/unworded.ts";
import { createWorld, type AskOptions, type World, type WorldOptions } from "../support/world.ts";

/** One request as a receiver read it. */
export interface Received {
  path: string;
  headers: IncomingHttpHeaders;
  text: string;
  /** The parsed body. Tests read data of many shapes. */
  body: any;
  at: number;
  /** Whether it was answered with a 2xx. */
  isTaken: boolean;
}

/** What a receiver answers; it never does where this answers nothing. */
export type Answerer = (received: Received, response: ServerResponse) => number | undefined;

/** A server that is sent web-hooks; it ends with the test. */
export async function createReceiver(answer: Answerer = () => 204, onEnd: (end: () => void) => void = onTestFinished) {
  const receiver = { received: [] as Received[], answer, sockets: new Set<Socket>(), url: "" };
  const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    let text = "";
    request.setEncoding("utf8").on("data", (part: string) => (text += part));
    request.on("end", () => {
      judgeWords("a web-hook", text);
      const one = {
        path: request.url ?? "",
        headers: request.headers,
        text,
        body: JSON.parse(text),
        at: performance.now(),
        isTaken: false,
      };
      receiver.received.push(one);
      const status = receiver.answer(one, response);
      one.isTaken = status !== undefined && status >= 200 && status < 300;
      if (status !== undefined) response.writeHead(status).end();
    });
  }).on("connection", (socket: Socket) => receiver.sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}/hook`;
  onEnd(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}
export type Receiver = Awaited<ReturnType<typeof createReceiver>>;

/** The numbers of the events that were taken, in the order in which each was taken for the first time. */
export function seqsIn({ received }: Pick<Receiver, "received">): number[] {
  return [
    ...new Set(received.flatMap(({ body, isTaken }) => (isTaken && typeof body.data.seq === "number" ? [body.data.seq as number] : []))),
  ];
}

/** Verify by the library what somebody received. @throws WebhookVerificationError */
export const verify = (secret: string, { headers, text }: Received) => new Verifier(secret).verify(text, headers as Record<string, string>);

/** A community whose web-hooks may be sent to this machine, with an owner. */
export async function createHooked(options: WorldOptions = {}) {
  const world = await createWorld({ ...options, env: { WEBHOOK_ALLOW_PRIVATE: "127.0.0.1", ...options.env } });
  const owner = await world.staff("owner");
  return { world, owner };
}

/** Make a web-hook; answers it with its secret. */
export async function hook(
  { world, owner }: { world: World; owner: User },
  receiver: Pick<Receiver, "url">,
  body: object = {},
  asked: AskOptions = {},
) {
  const answer = await world.post("/webhooks", { name: receiver.url, url: receiver.url, ...body }, { actor: owner, ...asked });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data as { id: string; secret: string; position: number };
}

/** Resolves once this is so. @param everyMs how often it is looked at */
export async function until(isSo: () => unknown, what: string, ms = 20_000, everyMs = 5): Promise<void> {
  const end = performance.now() + ms;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`it is not so: ${what}`);
    await new Promise((resolve) => void setTimeout(resolve, everyMs));
  }
}
