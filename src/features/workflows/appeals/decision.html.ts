import { html } from "hono/html";
import type { TextKey } from "../../../kit/say.ts";
import { filled, listText, timeText, type Markup } from "../../../pages/layout.ts";
import { linkTo, type Reader } from "../../../pages/reader.ts";
import type { AppealableDecision, Chance } from "./appeals.service.ts";

const names: Readonly<Record<string, TextKey>> = {
  warning: "page appeal what warning",
  strike: "page appeal what strike",
  probation: "page appeal what probation",
  suspension: "page appeal what suspension",
  demotion: "page appeal what demotion",
  termination: "page appeal what termination",
  timeout: "page appeal what timeout",
  kick: "page appeal what kick",
  ban: "page appeal what ban",
};
const besides: Readonly<Record<string, TextKey>> = {
  timeout: "page appeal with timeout",
  kick: "page appeal with kick",
  ban: "page appeal with ban",
  role_remove: "page appeal with role_remove",
};

/** What was decided, in words. */
export function decisionTitle({ t }: Reader, { kind, what, discord }: Pick<AppealableDecision, "kind" | "what" | "discord">): string {
  if (kind === "listing") return t("page appeal what listing", { category: t(`= ${what}`).replaceAll("_", " ") });
  const said = t(names[what] ?? "page appeal what other");
  const more = discord === null ? undefined : besides[discord];
  return more === undefined ? said : `${said} ${t(more)}`;
}

/** Who decided it, when and why, its reference, and until when it can be appealed. */
export function decisionFacts(reader: Reader, decision: AppealableDecision): Markup {
  const { t } = reader;
  const { from, reference, reason, decidedAt, appealUntil } = decision;
  return html`<dl>
    ${
      from.length === 0
        ? ""
        : html`<dt>${t("page appeal from")}</dt>
            <dd>${listText(reader, from)}</dd>`
    }
    <dt>${t("page appeal decided")}</dt>
    <dd>${timeText(reader, decidedAt)}</dd>
    ${
      reason === null
        ? ""
        : html`<dt>${t("page appeal reason")}</dt>
            <dd>${reason}</dd>`
    }
    <dt>${t("page appeal reference")}</dt>
    <dd><code>${reference}</code></dd>
    ${
      decision.chance.is === "free"
        ? html`<dt>${t("page appeal until")}</dt>
            <dd>${appealUntil === null ? t("page appeal no-end") : timeText(reader, appealUntil)}</dd>`
        : ""
    }
  </dl>`;
}

/** Why a decision cannot be appealed now. */
export function chanceText(reader: Reader, chance: Exclude<Chance, { is: "free" }>): Markup {
  const { t } = reader;
  if (chance.is !== "open") return filled(t, `page appeal chance ${chance.is}`, { time: timeText(reader, chance.until) });
  const { reference, isOwn } = chance;
  return filled(t, isOwn ? "page appeal chance open" : "page appeal chance open-staff", {
    reference: isOwn ? html`<a href="${linkTo(reader, `/appeal/status/${reference}`)}">${reference}</a>` : reference,
  });
}
