/** What a callsign is made of. */
export interface CallsignParts {
  dept?: string | null | undefined;
  rank?: string | null | undefined;
  n: number;
}

const placeholder = /\{([a-z_]+)(?::0(\d{1,2}))?\}/g;

/**
 * Write a callsign: `{dept}-{rank}{n:03}` with NORTH, S and 7 is NORTH-S007. A part that is not known stays empty; `:03` fills
 * a number up with zeros to three digits, and longer numbers stay whole.
 */
export function formatCallsign(template: string, { dept, rank, n }: CallsignParts): string {
  const parts: Readonly<Record<string, string>> = { dept: dept ?? "", rank: rank ?? "", n: n.toString() };
  return template.replaceAll(placeholder, (_, name: string, width: string | undefined) => {
    const value = Object.hasOwn(parts, name) ? (parts[name] ?? "") : "";
    return name === "n" && width !== undefined ? value.padStart(Number(width), "0") : value;
  });
}
