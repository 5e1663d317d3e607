import { alertsTexts } from "./features/alerts/alerts.texts.ts";
import { auditSentences } from "./features/audit/audit.sentences.ts";
import { auditActionTexts } from "./features/audit/actions.texts.ts";
import { auditTexts } from "./features/audit/audit.texts.ts";
import { authorizationSentences } from "./features/authorization/authorization.sentences.ts";
import { blacklistSentences } from "./features/blacklist/blacklist.sentences.ts";
import { authorizationTexts } from "./features/authorization/authorization.texts.ts";
import { blacklistTexts } from "./features/blacklist/blacklist.texts.ts";
import { callsignsSentences } from "./features/callsigns/callsigns.sentences.ts";
import { callsignsTexts } from "./features/callsigns/callsigns.texts.ts";
import { casesSentences } from "./features/cases/cases.sentences.ts";
import { casesTexts } from "./features/cases/cases.texts.ts";
import { confirmationsSentences } from "./features/confirmations/confirmations.sentences.ts";
import { confirmationsTexts } from "./features/confirmations/confirmations.texts.ts";
import { evidenceSentences } from "./features/evidence/evidence.sentences.ts";
import { followsSentences } from "./features/follows/follows.sentences.ts";
import { followsTexts } from "./features/follows/follows.texts.ts";
import { healthSentences } from "./features/health/health.sentences.ts";
import { intelligenceSentences } from "./features/intelligence/intelligence.sentences.ts";
import { helpTexts } from "./features/help/help.texts.ts";
import { intelligenceTexts } from "./features/intelligence/intelligence.texts.ts";
import { keysSentences } from "./features/keys/keys.sentences.ts";
import { linksSentences } from "./features/links/links.sentences.ts";
import { linksTexts } from "./features/links/links.texts.ts";
import { listsSentences } from "./features/lists/lists.sentences.ts";
import { listsTexts } from "./features/lists/lists.texts.ts";
import { nativeActionsTexts } from "./features/native-actions/native-actions.texts.ts";
import { permissionsSentences } from "./features/permissions/permissions.sentences.ts";
import { permissionsTexts } from "./features/permissions/permissions.texts.ts";
import { privacySentences } from "./features/privacy/privacy.sentences.ts";
import { privacyPageTexts, privacyPageSentences } from "./features/privacy/privacy-page.texts.ts";
import { privacyTexts } from "./features/privacy/privacy.texts.ts";
import { rosterSentences } from "./features/roster/roster.sentences.ts";
import { rosterTexts } from "./features/roster/roster.texts.ts";
import { serversSentences } from "./features/servers/servers.sentences.ts";
import { serversTexts } from "./features/servers/servers.texts.ts";
import { setupTexts } from "./features/setup/setup.texts.ts";
import { staffSentences } from "./features/staff/staff.sentences.ts";
import { staffTexts } from "./features/staff/staff.texts.ts";
import { timelineSentences } from "./features/timeline/timeline.sentences.ts";
import { workflowsSentences } from "./features/workflows/workflows.sentences.ts";
import { appealPageTexts } from "./features/workflows/appeals/appeal-page.texts.ts";
import { noticesTexts } from "./features/workflows/notices.texts.ts";
import { directSentences, directTexts } from "./features/workflows/direct/direct.texts.ts";
import { webhooksSentences } from "./features/webhooks/webhooks.sentences.ts";
import { webhooksTexts } from "./features/webhooks/webhooks.texts.ts";
import { requestTitlesDe, workflowsTexts } from "./features/workflows/workflows.texts.ts";
import { discordActionSentences } from "./discord-actions/discord-actions.sentences.ts";
import type { Sentences } from "./kernel/sentences.ts";
import { mcpSentences } from "./mcp/mcp.sentences.ts";
import { labels } from "./commands/locales/labels.ts";
import { permissionTitles } from "./commands/locales/permissions.ts";
import { phrases } from "./commands/locales/phrases.ts";
import { commonSentences } from "./commands/locales/sentences.ts";
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
  ...followsTexts.en,
  ...helpTexts.en,
  ...intelligenceTexts.en,
  ...linksTexts.en,
  ...listsTexts.en,
  ...alertsTexts.en,
  ...nativeActionsTexts.en,
  ...permissionsTexts.en,
  ...privacyPageTexts.en,
  ...privacyTexts.en,
  ...rosterTexts.en,
  ...serversTexts.en,
  ...setupTexts.en,
  ...staffTexts.en,
  ...webhooksTexts.en,
  ...workflowsTexts.en,
  ...noticesTexts.en,
  ...directTexts.en,
  ...appealPageTexts.en,
};

/** German. */
export const de = {
  ...labels.de,
  ...values.de,
  ...phrases.de,
  ...permissionTitles.de,
  ...auditActionTexts.de,
  ...pagesTexts.de,
  ...refusalTexts.de,
  ...auditTexts.de,
  ...authorizationTexts.de,
  ...blacklistTexts.de,
  ...callsignsTexts.de,
  ...casesTexts.de,
  ...confirmationsTexts.de,
  ...followsTexts.de,
  ...helpTexts.de,
  ...intelligenceTexts.de,
  ...linksTexts.de,
  ...listsTexts.de,
  ...alertsTexts.de,
  ...nativeActionsTexts.de,
  ...permissionsTexts.de,
  ...privacyPageTexts.de,
  ...privacyTexts.de,
  ...rosterTexts.de,
  ...serversTexts.de,
  ...setupTexts.de,
  ...staffTexts.de,
  ...webhooksTexts.de,
  ...workflowsTexts.de,
  ...noticesTexts.de,
  ...directTexts.de,
  ...appealPageTexts.de,
};

/** What the service says by itself, in German by the English sentence. */
export const deSentences: Sentences = {
  ...commonSentences,
  ...discordActionSentences,
  ...auditSentences,
  ...authorizationSentences,
  ...blacklistSentences,
  ...callsignsSentences,
  ...casesSentences,
  ...confirmationsSentences,
  ...evidenceSentences,
  ...followsSentences,
  ...healthSentences,
  ...intelligenceSentences,
  ...keysSentences,
  ...linksSentences,
  ...listsSentences,
  ...mcpSentences,
  ...permissionsSentences,
  ...refusalSentences,
  ...privacySentences,
  ...requestTitlesDe,
  ...privacyPageSentences,
  ...rosterSentences,
  ...serversSentences,
  ...staffSentences,
  ...timelineSentences,
  ...webhooksSentences,
  ...workflowsSentences,
  ...directSentences,
};

/** What stands between the parts of a list in German, by the English. */
export const deJoints = { '"|"': ", ", "; ": "; ", ", ": ", ", " and ": " und ", " or ": " oder " };
