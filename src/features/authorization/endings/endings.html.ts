import { html } from "hono/html";
import { layout } from "../../../pages/layout.ts";
import type { Ending } from "./endings.ts";

/** The way back to whoever sent the person here. */
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
