import { cpuOf, type Host } from "../processes.ts";

export const metricsToken = "only-for-the-benchmark";
const everyMs = 1000;

/** @throws Error when a scrape is refused */
async function scrape({ port }: Pick<Host, "port">): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port.toString()}/metrics`, { headers: { authorization: `Bearer ${metricsToken}` } });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the scrape was answered with ${answer.status.toString()}: ${text.slice(0, 300)}`);
}

const alone = 40;

/** Collect the metrics of a host that does nothing else. @returns milliseconds of its CPU for each time */
export async function scrapeAlone(host: Host): Promise<number> {
  const before = await cpuOf(host.child);
  for (let count = 0; count < alone; count += 1) await scrape(host);
  return ((await cpuOf(host.child)) - before) / alone / 1000;
}

/** Collect the metrics of a host once a second until the work is done, from half a second on. */
export async function whileScraped<T>(host: Pick<Host, "port">, work: () => Promise<T>): Promise<T> {
  const scrapes: Promise<void>[] = [];
  const begin = (): void => void scrapes.push(scrape(host));
  let timer = setTimeout(() => {
    begin();
    timer = setInterval(begin, everyMs);
  }, everyMs / 2);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    await Promise.all(scrapes);
  }
}
