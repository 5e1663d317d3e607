import { z } from "zod";
import { severities } from "./vocabulary.ts";

/** A list that names a subject, as answers about that subject tell it. */
export const ListedByView = z
  .object({
    list_id: z.string(),
    list: z.string().meta({ description: "What the list is called here" }),
    trust: z.int(),
    number: z.string().meta({ description: "At its origin", example: "BL-000123" }),
    category: z.string(),
    severity: z.enum(severities),
  })
  .meta({ id: "ListedBy", description: "What a followed list says of the subject" });
export type ListedByView = z.infer<typeof ListedByView>;

/** An invite or a domain that followed lists name. */
export const ListedLinkView = z
  .object({
    kind: z.enum(["invite", "domain"]),
    subject: z.string().meta({ description: "The code of the invite, or the domain", example: "free-nitro.example" }),
    listed_by: z.array(ListedByView),
  })
  .meta({ id: "ListedLink", description: "An invite or a domain that followed lists name" });
export type ListedLinkView = z.infer<typeof ListedLinkView>;
