import type { ComponentInteraction, Control, Form, Reply, Row } from "../../../discord/command.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { EvidenceView } from "../../evidence/evidence.schema.ts";
import type { StepView } from "../history/history.schema.ts";
import type { DecisionAnswer } from "../requests/workflows.schema.ts";
import { isDenial } from "../../../kernel/denied.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { Page } from "../../../kernel/page.ts";
import type { CommandInput, Entry, Wording } from "../../../commands/entry.ts";
import { asksForm, checkBeforeForm, type CheckDeps, maySee } from "../../../commands/form-checks.ts";
import { formOf, keepForm, typedEmbed } from "../../../commands/forms.ts";
import { parseForm } from "../../../commands/input.ts";
import type { PendingInteractions } from "../../../commands/pending-interactions.ts";
import { buttonOf, pickedIn, rowOf } from "../../../commands/press.ts";
import { withOffer } from "../../../discord/refusal.ts";
import { cardFor } from "./card-for.ts";
import { approvalQuestion, reviewEntries } from "./review.ts";
import { reportOutcome } from "./outcomes.ts";
import { changesSince, decisionText, locateRequest, readRequest, stepLine } from "./replies.ts";
import { isMove, moveInput, type ReviewMove } from "./moves.ts";
import { cut } from "../../../commands/show.ts";
import { say, translator, type Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";

/** A press on a card: everything it means stands in the custom id, so it works after a restart. */
interface Press {
  verb: string;
  reference: string;
  /** Which revision the card showed. */
  revision: number;
  /** Whether the card is the presser's own. */
  isOwn: boolean;
}

interface Pressed extends Press, Pick<Wording, "call" | "given" | "keepForm" | "t"> {
  params: { type: string; id: string };
  /** A form was filled in. */
  isFilled: boolean;
  language: string;
}

/** Pressed on the question of an approval. */
const yes = "yes";
const no = "no";
/** Opens a form again. */
const againVerb = "again";
/** Where the parts of a press are kept beside what was typed. */
const pressKey = "press";
const maxLength = 1900;

const entryOf = (verb: string): Entry | undefined => reviewEntries.find(({ path }) => path === verb);
const aboutOf = ({ reference, revision }: Press): CommandInput => ({ values: { reference, revision }, files: {} });

function pressOf([verb = "", reference = "", revision = "", mode]: readonly string[], picked?: string): Press {
  return { verb: verb === "more" ? (picked ?? "") : verb, reference, revision: Number(revision), isOwn: mode === "me" };
}

function idOf({ verb, reference, revision, isOwn }: Press): string {
  return `wf:${verb}:${reference}:${revision.toString()}${isOwn ? ":me" : ""}`;
}

interface ReviewControlsDeps extends Omit<CheckDeps, "sources"> {
  kept: PendingInteractions;
  /** Shows a request in its channel as it is now. */
  refresh: (requestId: string) => void;
}

/** The buttons and menus of review cards. */
export function createReviewControls({ verbs, kept, clock, refresh }: ReviewControlsDeps): Control[] {
  const checks: CheckDeps = { verbs, clock, sources: {} };
  const look: Readonly<Record<string, (pressed: Pressed) => Promise<Reply>>> = {
    approve: (pressed) => question(pressed),
    [yes]: (pressed) => decide("approve", pressed),
    [no]: ({ t }) => Promise.resolve({ content: t("say cancelled"), components: [] }),
    history: (pressed) => history(verbs, pressed),
    evidence: (pressed) => evidence(verbs, pressed),
  };

  async function question(pressed: Pressed): Promise<Reply> {
    const old = await staleness(pressed);
    if (old !== undefined) return old;
    const { t } = pressed;
    const asked = await approvalQuestion(pressed, verbs);
    if (asked === undefined) return await decide("approve", pressed);
    const { content, about, filled } = asked;
    const typed = { reference: pressed.reference };
    const go =
      filled === undefined
        ? buttonOf(t("card approve"), idOf({ ...pressed, verb: yes }), 3)
        : buttonOf(
            t("button continue"),
            pressed.keepForm("review approve", { typed, shown: { ...pressed.params, ...about, ...filled } }),
            3,
          );
    return { content, components: [rowOf(go, buttonOf(t("button cancel"), idOf({ ...pressed, verb: no })))] };
  }

  /** Undefined while the card shows what there is; anyone who may not read the request learns of it when they decide. */
  async function staleness(pressed: Pressed): Promise<Reply | undefined> {
    const view = await readRequest(verbs, pressed.call, pressed.params);
    return view === undefined || view.revision === pressed.revision ? undefined : await stale(pressed);
  }

  /** Nothing happened: what the card did not show yet. */
  async function stale(pressed: Pressed): Promise<Reply> {
    const { call, params, t, reference, revision, isOwn } = pressed;
    const view = await readRequest(verbs, call, params);
    if (view !== undefined) refresh(view.id);
    const changes = await changesSince(verbs, call, { params, revision, t });
    const content = cut(
      [t("review stale", { reference: escapeText(reference) }), changes].filter((part) => part !== "").join("\n"),
      maxLength,
    );
    const card: Reply = isOwn && view !== undefined ? await cardFor(view, pressed, verbs) : { content, components: [] };
    const entry = entryOf(pressed.verb);
    // What was typed into a form can be sent on about what is shown now.
    if (entry?.form === undefined || view === undefined || !pressed.isFilled) return { ...card, content };
    return {
      content,
      embeds: [...(card.embeds ?? []), ...typedEmbed(entry, pressed.given, pressed.language)],
      components: [...(card.components ?? []), again({ ...pressed, revision: view.revision })],
    };
  }

  /** Why a form did not open at once; where nothing is in its way any more, a button that opens it. */
  async function formLater(entry: Entry, pressed: Pressed): Promise<Reply> {
    const { call, t } = pressed;
    try {
      await checkBeforeForm(entry, aboutOf(pressed), call, checks);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "precondition_failed") return await stale(pressed);
      throw error;
    }
    return { content: t("say form"), components: [rowOf(buttonOf(t("button form"), idOf(pressed), 1))] };
  }

  /** A button that opens the form again, with what was typed into it. */
  function again(pressed: Pressed): Row {
    const { verb, reference, revision, isOwn, given, call, t } = pressed;
    const values = { ...given.values, [pressKey]: [verb, reference, revision.toString(), ...(isOwn ? ["me"] : [])] };
    const key = kept.keep({ userId: call.actor?.id ?? "", entry: `review ${verb}`, given: { ...given, values }, cursors: [] });
    return rowOf(buttonOf(t("button again"), `wf:${againVerb}:${key}`, 1));
  }

  /** What is pressed, and what was typed before where it is pressed again. */
  function openedBy(args: readonly string[], interaction: ComponentInteraction): { press: Press; given: CommandInput } {
    const [verb, key = ""] = args;
    if (verb !== againVerb) return { press: pressOf(args, pickedIn(interaction)), given: { values: {}, files: {} } };
    const { given } = kept.find(key, interaction.user.id);
    const parts = given.values[pressKey];
    return { press: pressOf(Array.isArray(parts) ? parts : []), given };
  }

  async function decide(verb: ReviewMove, pressed: Pressed): Promise<Reply> {
    const { call, params, t, given, revision, isOwn } = pressed;
    const values = { ...given.values, ...params };
    try {
      const answer = (await verbs.run("decideWorkflow", call, moveInput(verb, { ...given, values }, revision))) as DecisionAnswer;
      const view = isOwn && pressed.verb !== yes ? await readRequest(verbs, call, params) : undefined;
      const shown = view === undefined ? { components: [] } : await cardFor(view, pressed, verbs);
      const word = (effects: DecisionAnswer["effects"]): Reply => ({ ...shown, content: decisionText({ ...answer, effects }, t, verb) });
      return await reportOutcome({ ...answer, type: params.type }, word, call, verbs);
    } catch (error) {
      if (error instanceof ProblemError && error.code === "precondition_failed") return await stale(pressed);
      throw error;
    }
  }

  return [
    {
      name: "wf",
      updates([verb = "", , , mode]) {
        return verb === yes || verb === no || (mode === "me" && verb !== "approve" && verb !== "more");
      },
      async opens(args, interaction, call): Promise<Form | undefined> {
        const { press, given } = openedBy(args, interaction);
        const entry = entryOf(press.verb);
        if (entry === undefined || !asksForm(entry, aboutOf(press)) || !(await maySee(entry, aboutOf(press), call, checks)))
          return undefined;
        return formOf(entry, idOf(press), given, interaction.locale);
      },
      async run(args, call, interaction): Promise<Reply> {
        const press = interaction.isModalSubmit() ? pressOf(args) : openedBy(args, interaction).press;
        const entry = entryOf(press.verb);
        const { type, id } = await locateRequest({ values: { reference: press.reference }, files: {} }, call, verbs);
        const params = { type: String(type), id: String(id) };
        const filled = interaction.isModalSubmit() ? parseForm(interaction) : { values: {}, files: {} };
        const given = { ...filled, values: { ...filled.values, ...params } };
        const [language, isFilled] = [interaction.locale, interaction.isModalSubmit()];
        const keep: Pressed["keepForm"] = (name, asked) => keepForm(kept, call, name, asked);
        const pressed: Pressed = { ...press, params, given, call, isFilled, language, keepForm: keep, t: translator(language) };
        if (entry !== undefined && !isFilled && asksForm(entry, aboutOf(press))) return await formLater(entry, pressed);
        const looked = look[press.verb];
        if (looked !== undefined) return await looked(pressed);
        if (!isMove(press.verb))
          throw new ProblemError("invalid_transition", { detail: say("workflows.this-card-is-of-another-version-look") });
        return await decide(press.verb, pressed).catch((error: unknown) => {
          if (!isFilled || isDenial(error)) throw error;
          throw withOffer(error, () => ({ components: [again(pressed)] }));
        });
      },
    },
  ];
}

async function history(verbs: Verbs, { call, params, t }: Pressed): Promise<Reply> {
  const page = (await verbs.run("listWorkflowHistory", call, { params, query: { limit: 200 } })) as Page<StepView>;
  return listed(
    page.data.slice(-15).map((step) => stepLine(step, t)),
    t,
  );
}

async function evidence(verbs: Verbs, { call, params, t }: Pressed): Promise<Reply> {
  const { type, id } = params;
  const address = { type, website_id: id };
  const page = (await verbs.run("listWorkflowEvidence", call, { params: address, query: { limit: 15 } })) as Page<EvidenceView>;
  const sent = (await readRequest(verbs, call, params))?.evidence ?? [];
  const lines = page.data.map(({ kind, title, note, url, file }) => partsOf([t(`= ${kind}`), title, note, url, file?.name]));
  return listed([...sent.map(({ title, note, url }) => partsOf([title, note, url])), ...lines], t);
}

function partsOf(parts: readonly unknown[]): string {
  const texts = parts.filter((part): part is string => typeof part === "string" && part !== "");
  return cut(`• ${texts.map(escapeText).join(" · ")}`, 300);
}

function listed(lines: readonly string[], t: Translate): Reply {
  return lines.length === 0 ? { content: t("say nothing-found") } : { content: "", embeds: [{ description: cut(lines.join("\n"), 4000) }] };
}
