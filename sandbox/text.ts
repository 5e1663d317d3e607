/** An id or number of the wire as text; anything else as the empty string, which names nothing. */
export const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" || typeof value === "bigint" ? value.toString() : "";
