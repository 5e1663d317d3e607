import { isIP } from "node:net";
import { Readable } from "node:stream";
import type { AttachmentSource } from "../../kernel/discord-port.ts";
import { userAgent } from "./rest.ts";

/** The hosts of Discord's attachments; no other host is ever called. */
const hosts: ReadonlySet<string> = new Set(["cdn.discordapp.com", "media.discordapp.net"]);

/** @param apiBase Discord's API; if it is on this machine, its origin counts as a host of attachments, too */
export function createAttachments({ apiBase }: { apiBase: string }): AttachmentSource {
  const local = originOnThisMachine(apiBase);
  return {
    async open(url, signal) {
      const address = allowedAddress(url, local);
      if (address === undefined) return undefined;
      try {
        const response = await fetch(address, {
          redirect: "manual",
          signal,
          headers: { "accept-encoding": "identity", "user-agent": userAgent },
        });
        if (response.status === 200 && response.body !== null && !response.headers.has("content-encoding"))
          return Readable.fromWeb(response.body);
        await response.body?.cancel();
        return undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The address of an attachment, if it is at one of Discord's hosts. It is built from the checked parts, so that exactly these are requested. */
export function allowedAddress(text: string, local: string | undefined): URL | undefined {
  if (!URL.canParse(text) || /[\s\\]/.test(text)) return undefined;
  const { protocol, hostname, port, username, password, origin, pathname, search } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const isDiscords = protocol === "https:" && port === "" && hosts.has(hostname);
  if (!isDiscords && (local === undefined || origin !== local)) return undefined;
  return new URL(`${origin}${pathname}${search}`);
}

/** The origin of an address on this machine; undefined for any other. */
export function originOnThisMachine(address: string): string | undefined {
  const { hostname, origin } = new URL(address);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || (isIP(hostname) === 4 && hostname.startsWith("127."));
  return isLoopback ? origin : undefined;
}
