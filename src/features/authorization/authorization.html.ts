import { html } from "hono/html";
import { layout, timeText, type Markup } from "../../pages/layout.ts";
import { retentionDays, sessionRetentionDays } from "./authorization.policy.ts";
import type { Purpose, Scope } from "./authorization.schema.ts";
import type { Ending } from "./endings/endings.ts";

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
  detail: Detail;
  expiresAt: Date;
}

/** How much of the server list stays readable. */
export type Detail = "full" | "listed";

/** How long a hit of the comparison stays after it is closed. */
const hitRetentionDays = 90;

const purposeTexts: Readonly<Record<Purpose, string>> = {
  verification: "To verify your membership",
  recruitment: "To review your application to the staff",
  investigation: "To clear up an open question about your account",
  recheck: "To bring an earlier check up to date",
  appeal: "To decide your appeal",
};

const scopeTexts: Readonly<Record<Scope, string>> = {
  identify: "Who you are on Discord: your user id and name. Not your e-mail address, not your messages.",
  guilds: "The list of servers you are in: name, id and icon of each, and whether you own or manage it.",
  "guilds.members.read": "Your member profile in those servers: nickname and roles.",
};

const detailTexts: Readonly<Record<Detail, string>> = {
  full: "The names and ids of all these servers are kept, encrypted.",
  listed:
    "Only servers that this community has registered, watches or has blocked stay readable. Every other server is kept as an unreadable code: it shows later whether a server is the same one, but not which one it is.",
};

/** @param base path prefix of the pages, "" at the root */
export async function consentPage(base: string, consent: Consent): Promise<string> {
  const { path, client, staffMember, purpose, requestReference, expiresAt } = consent;
  const community = consent.communities.length === 0 ? "this community" : consent.communities.join(", ");
  const reference = requestReference === null ? "" : ` (${requestReference})`;
  return layout(
    base,
    "Share your Discord information?",
    html`<p><strong>${staffMember}</strong> asks for it through <strong>${client}</strong>, on behalf of <strong>${community}</strong>.</p>
      <section>
        <h2>Why</h2>
        <p>${purposeTexts[purpose]}${reference}</p>
      </section>
      ${whatIsRead(consent)} ${whoAndHowLong(community)} ${howToTakeBack(base)}
      <p>If you agree, Discord asks you to confirm. Nothing is read before that. This page works until ${timeText(expiresAt)}.</p>
      <form method="post" action="${path}/start"><button class="agree" type="submit">Agree and continue to Discord</button></form>
      <form method="post" action="${path}/decline"><button type="submit">Decline</button></form>`,
  );
}

function whatIsRead({ scopes, detail }: Consent): Markup {
  return html`<section>
    <h2>What is read</h2>
    <ul>
      ${scopes.map((scope) => html`<li>${scopeTexts[scope]}</li>`)}
    </ul>
    ${scopes.includes("guilds") ? html`<p>${detailTexts[detail]}</p>` : ""}
  </section>`;
}

function whoAndHowLong(community: string): Markup {
  return html`<section>
      <h2>Who sees it</h2>
      <p>
        Authorized staff of ${community}. It is compared with the community's list of blocked users and servers. It is not passed on to
        others.
      </p>
    </section>
    <section>
      <h2>How long it is kept</h2>
      <ul>
        <li>What is read: encrypted, until ${retentionDays} days after it was last used. Until then it can be read again from Discord.</li>
        <li>Hits of the comparison: ${hitRetentionDays} days after they are closed.</li>
        <li>
          This request: ${sessionRetentionDays} days after it ends. The audit log keeps that you answered and when, without your servers.
        </li>
      </ul>
    </section>`;
}

function howToTakeBack(base: string): Markup {
  return html`<section>
    <h2>How to take it back</h2>
    <p>
      At any time on <a href="${base}/privacy">your privacy page</a>: what was read is deleted at once. There you also see what is stored
      and who looked at it.
    </p>
    <p>
      Or in Discord: User Settings, Authorized Apps, Deauthorize. Nothing is read from then on, and what was read is deleted when its time
      is over.
    </p>
  </section>`;
}

/** The way back to the site that sent the person here. */
export interface WayBack {
  name: string;
  /** As the operator has configured it. */
  address: string;
}

const endingTexts: Readonly<Record<Ending, readonly [title: string, text: string]>> = {
  done: ["Thank you", "Your information has been shared. You can close this page."],
  declined: ["You declined", "Nothing was read and nothing was stored. You can close this page."],
  cancelled: [
    "This request was taken back",
    "It no longer waits for an answer. Ask for a new link if you still want to share your information.",
  ],
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
export async function endingPage(base: string, ending: Ending, back?: WayBack): Promise<string> {
  const [title, text] = endingTexts[ending];
  const link =
    back === undefined ? "" : html`<p><a class="button agree" href="${back.address}" rel="noreferrer">Back to ${back.name}</a></p>`;
  const own = ending === "done" ? html`<p><a class="button" href="${base}/privacy">See, take back or delete what you shared</a></p>` : "";
  return layout(
    base,
    title,
    html`<p>${text}</p>
      ${link}${own}`,
  );
}
