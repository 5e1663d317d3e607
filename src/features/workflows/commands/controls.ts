import type { ComponentInteraction, Control, Form, FormInteraction, Reply } from "../../../discord/command.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { EvidenceView } from "../../evidence/evidence.schema.ts";
import type { StepView } from "../history/history.schema.ts";
import type { DecisionAnswer } from "../requests/workflows.schema.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { Page } from "../../../kernel/page.ts";
import type { Wording } from "../../../commands/entry.ts";
import { formOf, keepForm } from "../../../commands/forms.ts";
import { parseForm } from "../../../commands/input.ts";
import type { PendingInteractions } from "../../../commands/pending-interactions.ts";
import { buttonOf, rowOf } from "../../../commands/press.ts";
import { cardFor } from "./card-for.ts";
import { approvalQuestion, reviewEntries } from "./review.ts";
import { changesSince, decisionText, locateRequest, readRequest, stepLine } from "./replies.ts";
import { isMove, moveInput, type ReviewMove } from "./moves.ts";
import { cut } from "../../../commands/show.ts";
import { translator, type Translate } from "../../../commands/texts.ts";
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
}

/** Pressed on the question of an approval. */
const yes = "yes";
const no = "no";
const maxLength = 1900;

function pressOf([verb = "", reference = "", revision = "", mode]: readonly string[], picked?: string): Press {
  return { verb: verb === "more" ? (picked ?? "") : verb, reference, revision: Number(revision), isOwn: mode === "me" };
}

function idOf({ verb, reference, revision, isOwn }: Press): string {
  return `wf:${verb}:${reference}:${revision.toString()}${isOwn ? ":me" : ""}`;
}

function pickedIn(interaction: ComponentInteraction | FormInteraction): string | undefined {
  return interaction.isStringSelectMenu() ? interaction.values[0] : undefined;
}

/** The buttons and menus of review cards. @param refresh shows a request in its channel as it is now */
export function createReviewControls(verbs: Verbs, kept: PendingInteractions, refresh: (requestId: string) => void): Control[] {
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
    const card = isOwn && view !== undefined ? await cardFor(view, pressed, verbs) : { components: [] };
    return { ...card, content };
  }

  async function decide(verb: ReviewMove, pressed: Pressed): Promise<Reply> {
    const { call, params, t, given, revision, isOwn } = pressed;
    const values = { ...given.values, ...params };
    try {
      const answer = (await verbs.run("decideWorkflow", call, moveInput(verb, { ...given, values }, revision))) as DecisionAnswer;
      const content = decisionText(answer, t, verb);
      const view = isOwn && pressed.verb !== yes ? await readRequest(verbs, call, params) : undefined;
      return { ...(view === undefined ? { components: [] } : await cardFor(view, pressed, verbs)), content };
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
      opens(args, interaction): Form | undefined {
        const press = pressOf(args, pickedIn(interaction));
        const entry = reviewEntries.find(({ path }) => path === press.verb);
        if (entry?.form === undefined || entry.formAfterQuestion === true) return undefined;
        return formOf(entry, idOf(press), { values: {}, files: {} }, interaction.locale);
      },
      async run(args, call, interaction): Promise<Reply> {
        const press = pressOf(args, pickedIn(interaction));
        const { type, id } = await locateRequest({ values: { reference: press.reference }, files: {} }, call, verbs);
        const params = { type: String(type), id: String(id) };
        const filled = interaction.isModalSubmit() ? parseForm(interaction) : { values: {}, files: {} };
        const given = { ...filled, values: { ...filled.values, ...params } };
        const keep: Pressed["keepForm"] = (entry, asked) => keepForm(kept, call, entry, asked);
        const pressed: Pressed = { ...press, params, given, call, keepForm: keep, t: translator(interaction.locale) };
        const looked = look[press.verb];
        if (looked !== undefined) return await looked(pressed);
        if (!isMove(press.verb))
          throw new ProblemError("invalid_transition", { detail: "This card is of another version. Look it up anew." });
        return await decide(press.verb, pressed);
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
