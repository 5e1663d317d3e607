import { createHash } from "node:crypto";
import { MessageFlags } from "discord.js";

/** What Discord takes in one message, and as the reason in its audit log. */
const longestMessage = 2000;
const longestReason = 512;
/** What Discord takes as a nickname. */
const longestNickname = 32;
/** What Discord takes as a nonce. */
const nonceLength = 25;

/** The body of a message that alerts nobody and unfolds no links; the same id within minutes is the same message. */
export function messageBody({ id, content }: { id: string; content: string }) {
  return {
    content: fitting(content, longestMessage),
    nonce: createHash("sha256").update(id).digest("base64url").slice(0, nonceLength),
    enforce_nonce: true,
    allowed_mentions: { parse: [] },
    flags: MessageFlags.SuppressEmbeds,
  };
}

/** A reason as Discord's audit log takes it: one line, at most 512 characters; undefined when nothing is left. */
export function auditReason(reason: string): string | undefined {
  const line = reason.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ").trim();
  return line === "" ? undefined : fitting(line, longestReason);
}

/** A nickname as Discord takes it: at most 32 characters, and null for one of which nothing is left. */
export function fittingNickname(nickname: string): string | null {
  return fitting(nickname.trim(), longestNickname).trim() || null;
}

/** Cut with an ellipsis, never through a character; halves of characters, which cannot be sent, are replaced. */
function fitting(text: string, most: number): string {
  const cut = text.length <= most ? text : `${text.slice(0, most - 1).replace(/\p{Surrogate}$/u, "")}…`;
  return cut.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
}
