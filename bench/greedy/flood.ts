import type { Socket } from "node:net";
import { createAnswerReader } from "./answers.ts";
import type { Attack } from "./cause.ts";
import { gather } from "./crowd.ts";

const connections = 8;
/** What one client might send without much effort. More would measure how fast the service is, and not whether it is fair. */
const maxPerSecond = 3000;
const tickMs = 1;

/** Asks one request after the other on each connection, reads every answer, and asks on as soon as it is there, within the cap. */
export function flood(port: number, requests: readonly Buffer[]): Attack {
  const free: Socket[] = [];
  let asked = 0;
  let allowed = 0;
  let toppedUpAt = performance.now();

  function ask(): void {
    while (allowed >= 1) {
      const socket = free.shift();
      const request = requests[asked % requests.length];
      if (socket === undefined || request === undefined) return;
      allowed -= 1;
      asked += 1;
      socket.write(request);
    }
  }

  const crowd = gather({
    port,
    connections,
    reads: true,
    onOpen(socket) {
      free.push(socket);
      return createAnswerReader(() => {
        free.push(socket);
        ask();
      });
    },
  });
  const timer = setInterval(() => {
    const now = performance.now();
    allowed = Math.min(connections, allowed + ((now - toppedUpAt) * maxPerSecond) / 1000);
    toppedUpAt = now;
    ask();
  }, tickMs);

  return {
    requests: () => asked,
    close() {
      clearInterval(timer);
      crowd.close();
    },
  };
}
