/** The databases one installation can run on. */
export type Dialect = "sqlite" | "postgres";

/**
 * Which database an address names: `file:…` or `postgres://…`, `postgresql://…`.
 * @throws Error for any other address
 */
export function dialectOf(url: string): Dialect {
  if (url.startsWith("file:")) return "sqlite";
  if (/^postgres(ql)?:\/\//.test(url)) return "postgres";
  throw new Error("The database address must start with file: or postgresql://");
}

/** The file a `file:` address names. */
export function sqliteFile(url: string): string {
  return url.slice("file:".length);
}
