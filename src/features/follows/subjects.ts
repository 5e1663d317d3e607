import { Snowflake } from "../../kernel/fields.ts";
import type { EntryKind } from "./follows.schema.ts";

const inviteCode = /^[A-Za-z0-9-]{2,64}$/;
const hostName = /^(?=.{4,253}$)(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]{0,61}[a-z0-9]$/;
const invites = /(?:discord\.gg|discord(?:app)?\.com\/invite)\/([A-Za-z0-9-]{2,64})/gi;
const addresses = /https?:\/\/[^\s<>"']+/gi;
/** Parents of a host that are looked for, too. */
const maxLabels = 6;

const ofDiscord = (subject: string): string | undefined => Snowflake.safeParse(subject).data;
const written: Readonly<Record<EntryKind, (subject: string) => string | undefined>> = {
  user: ofDiscord,
  server: ofDiscord,
  invite: (code) => (inviteCode.test(code) ? code : undefined),
  domain(name) {
    const host = name.toLowerCase().replace(/\.$/, "");
    return hostName.test(host) ? host : undefined;
  },
};

/** A subject in the one form it is stored in; undefined for what is none of its kind. */
export function subjectOf(kind: EntryKind, subject: string): string | undefined {
  return written[kind](subject);
}

/** The invites and domains that texts lead to; a domain with those above it, as an entry stands for all below. */
export function linksIn(texts: readonly (string | null)[]): Readonly<Record<"invite" | "domain", readonly string[]>> {
  const text = texts.filter((one) => one !== null).join("\n");
  const hosts = [...text.matchAll(addresses)].flatMap(([address]) => (URL.canParse(address) ? [new URL(address).hostname] : []));
  const domains = hosts.flatMap((host) => {
    const labels = host.toLowerCase().split(".").slice(-maxLabels);
    return labels.flatMap((_, index) => subjectOf("domain", labels.slice(index).join(".")) ?? []);
  });
  return { invite: [...new Set([...text.matchAll(invites)].flatMap(([, code]) => code ?? []))], domain: [...new Set(domains)] };
}
