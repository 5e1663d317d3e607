import { html } from "hono/html";
import { layout } from "../../pages/layout.ts";
import { readsPart, recordsPart, serversPart, sharedPart } from "./parts/parts.html.ts";
import type { DataExportView } from "./privacy.schema.ts";
import type { SignInEnding } from "./sign-in/sign-in.service.ts";

/** How something on the privacy page can end; each has its own page, with this status. */
export const privacyResults = {
  revoked: 200,
  "nothing-shared": 409,
  deleted: 200,
  "not-ticked": 400,
  "signed-out": 200,
  "sign-in-again": 401,
  declined: 200,
  "other-browser": 403,
  "discord-unreachable": 503,
  failed: 400,
} as const satisfies Record<SignInEnding, number> & Record<string, number>;
export type PrivacyResult = keyof typeof privacyResults;

const resultTexts: Readonly<Record<PrivacyResult, readonly [title: string, text: string]>> = {
  revoked: [
    "Your consent is taken back",
    "Nothing is read any more. What was read has been deleted, and Discord is told. Hits it led to are closed and kept for 90 days, unless you delete what you shared. Records of moderation about you stay.",
  ],
  "nothing-shared": ["There is nothing to take back", "You share nothing at present."],
  deleted: [
    "What you shared is deleted",
    "Your consent, your servers, the hits and the list of who looked at them are gone, and Discord is told. You are signed out. Records of moderation about you stay.",
  ],
  "not-ticked": ["Nothing was deleted", "Tick the box above the button first: deleting cannot be undone."],
  "signed-out": ["You are signed out", "You can close this page."],
  "sign-in-again": ["Please sign in again", "A sign-in lasts 15 minutes. Nothing was changed."],
  declined: ["You did not sign in", "You said no at Discord. Nothing was read and nothing was stored."],
  "other-browser": [
    "Please use the same browser",
    "You began in another browser or tab, or your browser did not keep the cookie of this page. Start again, and go through it in one.",
  ],
  "discord-unreachable": ["Discord cannot be reached", "Nobody was signed in. Wait a minute, then try again."],
  failed: ["That did not work", "Nothing was changed. Go back to the privacy page and try again."],
};

/** The page of one result; it says the same to everybody. */
export async function privacyResultPage(base: string, result: PrivacyResult): Promise<string> {
  const [title, text] = resultTexts[result];
  return layout(
    base,
    title,
    html`<p>${text}</p>
      <p><a class="button" href="${base}/privacy">To the privacy page</a></p>`,
  );
}

/** What somebody who is not signed in sees. */
export async function signInPage(base: string): Promise<string> {
  return layout(
    base,
    "Your data",
    html`<p>
        Here you see what is stored about you and who looked at it. You can take it with you, take your consent back, and delete what you
        shared.
      </p>
      <section>
        <h2>Signing in</h2>
        <p>
          Discord tells this page your user id and name, and nothing else: not your servers, not your e-mail address. Only the id is kept,
          for 15 minutes, to show you your own data. There is one cookie, for this purpose alone.
        </p>
      </section>
      <form method="post" action="${base}/privacy/start"><button class="agree" type="submit">Sign in with Discord</button></form>`,
  );
}

/** What a signed-in person sees. */
export async function ownDataPage(base: string, data: DataExportView): Promise<string> {
  return layout(
    base,
    "Your data",
    html`<p>Signed in as Discord user ${data.discord_user_id}.</p>
      ${sharedPart(data)} ${serversPart(data)} ${readsPart(data)} ${recordsPart(data)}
      <section>
        <h2>Take it with you</h2>
        <p>Everything stored about you, as a JSON file.</p>
        <p><a class="button" href="${base}/privacy/data.json" download>Download</a></p>
      </section>
      <section>
        <h2>Take your consent back</h2>
        <p>
          Nothing is read any more, and what was read is deleted at once. Hits it led to are closed and kept for 90 days. That you had
          agreed stays on record.
        </p>
        <form method="post" action="${base}/privacy/revoke"><button type="submit">Take my consent back</button></form>
      </section>
      <section>
        <h2>Delete what you shared</h2>
        <p>
          As above, and also the record of your consent, of the times you were asked and of who looked at it. Blacklist records, cases,
          requests and the audit log stay: they are records of moderation, not of what you shared.
        </p>
        <form method="post" action="${base}/privacy/delete">
          <label><input type="checkbox" name="sure" value="yes" /> I know that this cannot be undone.</label>
          <button class="danger" type="submit">Delete</button>
        </form>
      </section>
      <form method="post" action="${base}/privacy/sign-out"><button type="submit">Sign out</button></form>`,
  );
}
