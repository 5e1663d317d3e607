import { html } from "hono/html";
import { retentionDays } from "./authorization.policy.ts";
import type { Purpose, Scope } from "./authorization.schema.ts";
import type { Ending } from "./endings.ts";

/** What the consent page says about one session. */
export interface Consent {
  /** Path of the session's page. */
  path: string;
  /** Names of the communities whose staff will see the answer. */
  communities: readonly string[];
  client: string;
  staffMember: string;
  purpose: Purpose;
  requestReference: string | null;
  scopes: readonly Scope[];
  expiresAt: Date;
}

const purposeTexts: Readonly<Record<Purpose, string>> = {
  verification: "to verify your membership",
  recruitment: "to review your application to the staff",
  investigation: "to clear up an open question about your account",
  recheck: "to bring an earlier check up to date",
  appeal: "to decide your appeal",
};

const scopeTexts: Readonly<Record<Scope, string>> = {
  identify: "Who you are on Discord: your user id and name. Not your e-mail address, not your messages.",
  guilds: "The list of servers you are in: name, id and icon of each, and whether you own or manage it.",
  "guilds.members.read": "Your member profile in those servers: nickname and roles.",
};

/** @param base path prefix of the pages, "" at the root */
export async function consentPage(base: string, consent: Consent): Promise<string> {
  const { path, communities, client, staffMember, purpose, requestReference, scopes, expiresAt } = consent;
  const community = communities.length === 0 ? "this community" : communities.join(", ");
  const reference = requestReference === null ? "" : ` (${requestReference})`;
  return layout(
    base,
    "Share your Discord information?",
    html`<p><strong>${staffMember}</strong> asks for it through <strong>${client}</strong>, on behalf of <strong>${community}</strong>.</p>
      <dl>
        <dt>Why</dt>
        <dd>${purposeTexts[purpose]}${reference}</dd>
        <dt>What is read</dt>
        <dd>
          <ul>
            ${scopes.map((scope) => html`<li>${scopeTexts[scope]}</li>`)}
          </ul>
        </dd>
        <dt>Who sees it</dt>
        <dd>
          Authorized staff of ${community}. It is compared with the community's list of blocked users and servers. It is not passed on to
          others.
        </dd>
        <dt>How long it is kept</dt>
        <dd>
          Encrypted, and read again when staff need it. It is deleted ${retentionDays} days after it was last read. Hits of the comparison
          stay in the moderation records.
        </dd>
        <dt>How to take it back</dt>
        <dd>
          At any time in Discord: User Settings, Authorized Apps, Deauthorize. Nothing is read from then on, and what was read is deleted
          when its time is over.
        </dd>
      </dl>
      <p>
        If you agree, Discord asks you to confirm. Nothing is read before that. This page works until
        ${expiresAt.toISOString().slice(0, 16).replace("T", " ")} UTC.
      </p>
      <form method="post" action="${path}/start"><button class="agree" type="submit">Continue</button></form>
      <form method="post" action="${path}/decline"><button type="submit">Decline</button></form>`,
  );
}

const endingTexts: Readonly<Record<Ending, readonly [title: string, text: string]>> = {
  done: ["Thank you", "Your information has been shared. You can close this page."],
  declined: ["You declined", "Nothing was read and nothing was stored. You can close this page."],
  "wrong-account": [
    "This was another account",
    "The link was made for a different Discord account than the one you are signed in with. Nothing was stored. Ask for a new link, and sign in to Discord with the account it is for.",
  ],
  expired: ["This link has expired", "It works for a short time only, or it never existed. Ask for a new link."],
  used: ["This link has been used", "It works once. If you agreed before, your answer has arrived and there is nothing left to do."],
  "other-browser": [
    "Please use the same browser",
    "You began in another browser, or your browser did not keep the cookie of this page. Open the link again and go through it in one browser.",
  ],
  "discord-unreachable": ["Discord cannot be reached", "Nothing was stored. Wait a minute, then open the same link again."],
  "scope-missing": [
    "Something was left out",
    "Discord did not grant everything that was asked for, so nothing was stored. Ask for a new link.",
  ],
  failed: ["That did not work", "Discord's answer could not be used and nothing was stored. Open the link again, or ask for a new one."],
};

/** The page of one ending; it says the same to everybody. */
export async function endingPage(base: string, ending: Ending): Promise<string> {
  const [title, text] = endingTexts[ending];
  return layout(base, title, html`<p>${text}</p>`);
}

async function layout(base: string, title: string, content: ReturnType<typeof html>): Promise<string> {
  const page = await html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        <link rel="stylesheet" href="${base}/authorize/style.css" />
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          ${content}
        </main>
      </body>
    </html>`;
  return page.toString();
}

/** The one style of these pages: readable on a phone, light and dark. */
export const style = `:root { color-scheme: light dark; --edge: #8886; --accent: #4752c4; }
body { margin: 0; font: 1rem/1.55 system-ui, sans-serif; }
main { max-width: 38rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; }
dl { border: 1px solid var(--edge); border-radius: 0.5rem; padding: 0.25rem 1rem 1rem; }
dt { font-weight: 600; margin-top: 0.75rem; }
dd { margin: 0; }
ul { margin: 0; padding-left: 1.25rem; }
form { margin: 0.75rem 0 0; }
button { width: 100%; padding: 0.75rem 1rem; font: inherit; border: 1px solid var(--edge); border-radius: 0.5rem; cursor: pointer; }
.agree { background: var(--accent); border-color: var(--accent); color: #fff; }
`;
