import { auditSentences } from "./features/audit/audit.sentences.ts";
import { authorizationSentences } from "./features/authorization/authorization.sentences.ts";
import { blacklistSentences } from "./features/blacklist/blacklist.sentences.ts";
import { callsignsSentences } from "./features/callsigns/callsigns.sentences.ts";
import { casesSentences } from "./features/cases/cases.sentences.ts";
import { confirmationsSentences } from "./features/confirmations/confirmations.sentences.ts";
import { evidenceSentences } from "./features/evidence/evidence.sentences.ts";
import { followsSentences } from "./features/follows/follows.sentences.ts";
import { healthSentences } from "./features/health/health.sentences.ts";
import { intelligenceSentences } from "./features/intelligence/intelligence.sentences.ts";
import { keysSentences } from "./features/keys/keys.sentences.ts";
import { linksSentences } from "./features/links/links.sentences.ts";
import { listsSentences } from "./features/lists/lists.sentences.ts";
import { permissionsSentences } from "./features/permissions/permissions.sentences.ts";
import { privacySentences } from "./features/privacy/privacy.sentences.ts";
import { privacyPageSentences } from "./features/privacy/privacy-page.sentences.ts";
import { rosterSentences } from "./features/roster/roster.sentences.ts";
import { serversSentences } from "./features/servers/servers.sentences.ts";
import { staffSentences } from "./features/staff/staff.sentences.ts";
import { timelineSentences } from "./features/timeline/timeline.sentences.ts";
import { workflowsSentences } from "./features/workflows/workflows.sentences.ts";
import { directSentences } from "./features/workflows/direct/direct.sentences.ts";
import { webhooksSentences } from "./features/webhooks/webhooks.sentences.ts";
import { requestTitlesDe } from "./features/workflows/titles.sentences.ts";
import { discordActionSentences } from "./discord-actions/discord-actions.sentences.ts";
import type { Sentences } from "./kernel/sentences.ts";
import { mcpSentences } from "./mcp/mcp.sentences.ts";
import { commonSentences } from "./commands/locales/sentences.ts";
import { refusalSentences } from "./commands/locales/refusals.ts";

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
