import { isIP } from "node:net";

/** An address may be written so that it is no link: `203[.]0[.]113[.]7`. */
const brokenUp = /\s?[[({]\s?(dot|[.:])\s?[\])}]\s?/giu;
/** Signs that are written and not seen. */
const invisible = /\p{Cf}/gu;
/** A run of what addresses are written with, not in the middle of a word. */
const addressLike = /(?<![\p{L}\p{N}_.:])[0-9a-f.:]{3,}(?![\p{L}\p{N}_:])/giu;

/** Marks that tell one device, connection or browser from another. */
const marks: readonly RegExp[] = [
  // The address of a network card: 00:1a:2b:3c:4d:5e, 00-1A-2B-3C-4D-5E, 001a.2b3c.4d5e; longer rows of pairs are fingerprints.
  /(?<![\w:-])[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2}){4,}(?![\w:-])/i,
  /(?<![\w.])[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}(?![\w])/i,
  // What a browser says of itself.
  /\b(?:mozilla|applewebkit|gecko|chrome|crios|firefox|fxios|safari|edga?|edgios|opr|okhttp|dalvik|cfnetwork|curl)\/\d/i,
  // A digest: letters and digits together, so that ids of Discord, which are digits alone, are not meant.
  /(?<![\p{L}\p{N}_-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{16,}(?![\p{L}\p{N}_-])/iu,
];

/** What a field says that must not hold such a thing. */
export const notAnonymous = {
  message:
    "Addresses, devices and fingerprints are not stored. Say in plain words what was seen, without IP or network addresses, user agents or digests.",
  params: { code: "identifying_data" },
} as const;

/** Whether a text holds nothing that tells a device, a connection or a browser from others. */
export function isAnonymous(text: string): boolean {
  return !holdsIdentifyingData(text);
}

/** Whether a text holds an IP address, the address of a network card, a browser's name for itself, or a fingerprint. */
function holdsIdentifyingData(text: string): boolean {
  const plain = text
    .normalize("NFKC")
    .replaceAll(invisible, "")
    .replaceAll(brokenUp, (_whole, mark: string) => (mark.toLowerCase() === "dot" ? "." : mark));
  return marks.some((mark) => mark.test(plain)) || [...plain.matchAll(addressLike)].some(([run]) => isAddress(run));
}

/** A run may end like a sentence, and an IPv4 address may be followed by a port. */
function isAddress(run: string): boolean {
  const bare = run.replace(/[.:]+$/, "");
  const [host = "", port] = bare.split(":");
  return (isIP(bare) !== 0 && /[0-9a-f]/i.test(bare)) || (port !== undefined && bare.split(":").length === 2 && isIP(host) === 4);
}
