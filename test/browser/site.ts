import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

/**
 * A site of its own, on this machine.
 * @param files what stands at which path; an empty page everywhere else
 * @returns its origin
 */
export async function createSite(onEnd: (end: () => void) => void, files: Readonly<Record<string, string>> = {}): Promise<string> {
  const site = createServer(({ url = "" }, response) => {
    const script = files[url];
    response.setHeader("content-type", script === undefined ? "text/html" : "text/javascript");
    response.end(script ?? '<!doctype html><html lang="en"><title>A panel</title>');
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  onEnd(() => void site.close());
  return `http://127.0.0.1:${(site.address() as AddressInfo).port.toString()}`;
}
