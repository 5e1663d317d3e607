import { peopleColumns } from "./people.ts";
import { recordColumns } from "./records.ts";
import type { Registry } from "./types.ts";

/**
 * Every text column there is and what it holds, by model: what a redaction erases, what stays and why, and what a person's own export
 * shows. A column that is added to `prisma/schema.prisma` has to be added here, too: without it this does not compile.
 */
export const registry: Registry = { ...peopleColumns, ...recordColumns };
