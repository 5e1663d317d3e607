// @module-tag sqlite
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { verifyWebhook } from "../../client/index.ts";

const [old, fresh] = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
const body = '{"type":"blacklist.created","data":{"reason":"Größe 🦊"}}';

function signed(secret: string, at = new Date()) {
  const [id, timestamp] = ["msg_1", Math.floor(at.getTime() / 1000).toString()];
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": new Webhook(secret).sign(id, at, body) };
}

test("a web-hook is read as text and as bytes, with headers of either kind, and with either secret while it is rotated", () => {
  const wanted = JSON.parse(body) as object;
  expect(verifyWebhook(fresh, signed(fresh), body)).toEqual(wanted);
  expect(verifyWebhook([old, fresh], new Headers(signed(fresh)), new TextEncoder().encode(body))).toEqual(wanted);
  const { "webhook-id": id, ...others } = signed(old);
  expect(verifyWebhook([old, fresh], { ...others, "Webhook-Id": id }, Buffer.from(body))).toEqual(wanted);
});

test("another secret, another body, an old one, and one without a signature are refused", () => {
  expect(() => verifyWebhook(old, signed(fresh), body)).toThrow("No matching signature found");
  expect(() => verifyWebhook(fresh, signed(fresh), `${body} `)).toThrow("No matching signature found");
  expect(() => verifyWebhook(fresh, signed(fresh, new Date(Date.now() - 400_000)), body)).toThrow("too old");
  expect(() => verifyWebhook(fresh, {}, body)).toThrow("Missing required headers");
  expect(() => verifyWebhook([], signed(fresh), body)).toThrow("Name a secret");
});
