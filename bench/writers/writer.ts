import { Agent, request } from "node:http";
import { serveTasks } from "../tasks.ts";

export interface WriterOrder {
  port: number;
  key: string;
  staff: readonly string[];
  /** How many write at the same time, each again as soon as it is answered. */
  writers: number;
}

let stopping = new AbortController();
let running: Promise<number[]> = Promise.resolve([]);

/** Opens cases until it is told to stop. */
function start({ port, key, staff, writers }: WriterOrder): void {
  const agent = new Agent({ keepAlive: true, maxSockets: writers });
  const { signal } = (stopping = new AbortController());
  const write = async (actor: string): Promise<number> => {
    let written = 0;
    while (!signal.aborted) {
      const body = JSON.stringify({ title: "A quarrel", subjects: [{ kind: "user", id: "123456789012345678" }] });
      const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": actor, "Content-Type": "application/json" };
      const status = await new Promise<number>((resolve, reject) => {
        const asked = request({ agent, host: "127.0.0.1", port, method: "POST", path: "/cases", headers }, (answer) =>
          answer.resume().on("end", () => resolve(answer.statusCode ?? 0)),
        );
        asked.on("error", reject).end(body);
      });
      if (status !== 201) throw new Error(`a case was not opened: ${status.toString()}`);
      written += 1;
    }
    return written;
  };
  running = Promise.all(staff.slice(0, writers).map(write)).finally(() => agent.destroy());
}

/** @returns how many cases were opened */
async function stop(): Promise<number> {
  stopping.abort();
  return (await running).reduce((sum, written) => sum + written, 0);
}

serveTasks({ start, stop });
