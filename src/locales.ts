import { auditActionTexts } from "./features/audit/actions.texts.ts";
import { auditTexts } from "./features/audit/audit.texts.ts";
import { authorizationTexts } from "./features/authorization/authorization.texts.ts";
import { blacklistTexts } from "./features/blacklist/blacklist.texts.ts";
import { callsignsTexts } from "./features/callsigns/callsigns.texts.ts";
import { casesTexts } from "./features/cases/cases.texts.ts";
import { confirmationsTexts } from "./features/confirmations/confirmations.texts.ts";
import { helpTexts } from "./features/help/help.texts.ts";
import { intelligenceTexts } from "./features/intelligence/intelligence.texts.ts";
import { linksTexts } from "./features/links/links.texts.ts";
import { permissionsTexts } from "./features/permissions/permissions.texts.ts";
import { privacyPageTexts, privacySentences } from "./features/privacy/privacy-page.texts.ts";
import { privacyTexts } from "./features/privacy/privacy.texts.ts";
import { rosterTexts } from "./features/roster/roster.texts.ts";
import { serversTexts } from "./features/servers/servers.texts.ts";
import { setupTexts } from "./features/setup/setup.texts.ts";
import { staffTexts } from "./features/staff/staff.texts.ts";
import { noticesTexts } from "./features/workflows/notices.texts.ts";
import { requestTitlesDe, workflowsTexts } from "./features/workflows/workflows.texts.ts";
import type { Sentences } from "./kernel/sentences.ts";
import { labels } from "./commands/locales/labels.ts";
import { phrases } from "./commands/locales/phrases.ts";
import { refusalSentences } from "./commands/locales/refusals.ts";
import { values } from "./commands/locales/values.ts";
import { pagesTexts } from "./pages/pages.texts.ts";
import { refusalTexts } from "./discord/refusal-texts.ts";

/** English: every text of commands and replies, feature by feature. */
export const en = {
  ...labels.en,
  ...values.en,
  ...phrases.en,
  ...auditActionTexts.en,
  ...pagesTexts.en,
  ...refusalTexts.en,
  ...auditTexts.en,
  ...authorizationTexts.en,
  ...blacklistTexts.en,
  ...callsignsTexts.en,
  ...casesTexts.en,
  ...confirmationsTexts.en,
  ...helpTexts.en,
  ...intelligenceTexts.en,
  ...linksTexts.en,
  ...permissionsTexts.en,
  ...privacyPageTexts.en,
  ...privacyTexts.en,
  ...rosterTexts.en,
  ...serversTexts.en,
  ...setupTexts.en,
  ...staffTexts.en,
  ...workflowsTexts.en,
  ...noticesTexts.en,
};

/** German. */
export const de = {
  ...labels.de,
  ...values.de,
  ...phrases.de,
  ...auditActionTexts.de,
  ...pagesTexts.de,
  ...refusalTexts.de,
  ...auditTexts.de,
  ...authorizationTexts.de,
  ...blacklistTexts.de,
  ...callsignsTexts.de,
  ...casesTexts.de,
  ...confirmationsTexts.de,
  ...helpTexts.de,
  ...intelligenceTexts.de,
  ...linksTexts.de,
  ...permissionsTexts.de,
  ...privacyPageTexts.de,
  ...privacyTexts.de,
  ...rosterTexts.de,
  ...serversTexts.de,
  ...setupTexts.de,
  ...staffTexts.de,
  ...workflowsTexts.de,
  ...noticesTexts.de,
};

/** What the service says by itself, in German by the English sentence. */
export const deSentences: Sentences = {
  ...refusalSentences,
  ...privacySentences,
  ...requestTitlesDe,
  "Write a length of time, such as 2 weeks, 1h30m or 30d.": "Schreib eine Dauer wie 2 Wochen, 1h30m oder 30d.",
  "Write a length of time or a date, such as 2 weeks, 30d or 2027-01-31.":
    "Schreib eine Dauer oder ein Datum, etwa 2 Wochen, 30d oder 31.01.2027.",
  "Write a date or a time, such as 2027-01-31, 2027-01-31 18:00 or in 2 days.":
    "Schreib ein Datum oder einen Zeitpunkt, etwa 31.01.2027, 31.01.2027 18:00 oder in 2 Tagen.",
  "Write a date or a time, such as 2026-01-31, 2026-01-31 18:00 or 2 days ago.":
    "Schreib ein Datum oder einen Zeitpunkt, etwa 31.01.2026, 31.01.2026 18:00 oder vor 2 Tagen.",
};
