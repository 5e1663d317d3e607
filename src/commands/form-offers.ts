import { type Offer, refusalIn } from "../discord/refusal.ts";
import { typedOffer } from "../discord/typed.ts";
import type { Call } from "../kernel/call.ts";
import { isDenial } from "../kernel/denied.ts";
import type { ProblemCode } from "../kernel/errors.ts";
import { refusedOptions } from "./form-checks.ts";
import { againRow, withMends } from "./forms.ts";
import type { PendingInteraction, PendingInteractions } from "./pending-interactions.ts";
import type { CommandTable } from "./table.ts";
import type { Translate } from "../kit/say.ts";

type OfferFor = (error: unknown, asked: PendingInteraction, call: Call, t: Translate) => Offer;

const aboutGiven: ReadonlySet<ProblemCode> = new Set(["validation_failed", "record_not_found"]);

/** What a refusal of a command with a form offers, so that nothing has to be typed again. */
export function createFormOffers({ entries, entryOf }: Pick<CommandTable, "entries" | "entryOf">, kept: PendingInteractions) {
  /** The form asks for the options that were refused, where it has room for them. */
  function mended(error: unknown, asked: PendingInteraction, call: Call): PendingInteraction {
    const refusal = refusalIn(error);
    if (refusal === undefined) return asked;
    const mends = refusedOptions(entryOf(asked.entry), asked.given, call, refusal).map(({ name }) => name);
    return { ...asked, mends: [...new Set([...(asked.mends ?? []), ...mends])] };
  }

  /** Before the form was seen: it is offered where it can ask for what was refused, and otherwise the command has to be given again. */
  const beforeForm: OfferFor = (error, asked, call, t) => {
    const refusal = refusalIn(error);
    if (refusal === undefined || isDenial(error)) return {};
    const [entry, again] = [entryOf(asked.entry), mended(error, asked, call)];
    if (withMends(entry, again.mends) !== entry) return { components: [againRow(kept, again, t)] };
    // What does not lie in what was given is the same at another try.
    if (!aboutGiven.has(refusal.code)) return {};
    return { notes: [entries.includes(entry) ? t("say command-again", { command: asked.entry }) : t("say menu-again")] };
  };

  /** After a form was sent. The answer to the form has what was typed, so that nothing is lost where another try is of no use. */
  const afterForm: OfferFor = (error, asked, call, t) => {
    if (isDenial(error)) return {};
    return {
      components: [againRow(kept, mended(error, asked, call), t)],
      ...(refusalIn(error) === undefined && { notes: [t("say look-first")] }),
    };
  };

  /** After a question that followed a form: its answer does not have what was typed. */
  const afterQuestion: OfferFor = (error, asked, call, t) => {
    const form = entryOf(asked.entry).form ?? [];
    const values = form.flatMap(({ name }) => {
      const value = asked.given.values[name];
      return value === undefined ? [] : [[name, value.toString()] as const];
    });
    const typed = typedOffer({ values: Object.fromEntries(values), files: (asked.given.files["files"] ?? []).map((file) => file.name) }, t);
    const offer = afterForm(error, asked, call, t);
    return { ...offer, files: typed.files, notes: [...(offer.notes ?? []), ...typed.notes] };
  };

  return { beforeForm, afterForm, afterQuestion };
}
