import { createHmac, timingSafeEqual } from "node:crypto";
import type { Hono } from "hono";
import { faultResponse, type FaultRules } from "./fault-rules.ts";
import type { Attachment, World } from "./model.ts";
import type { Recorder } from "./recorder.ts";

const route = "/attachments/{channel_id}/{attachment_id}/{filename}";
/** The folder of files that are in no channel, as at Discord. */
const apart = "ephemeral-attachments";
/** A page among the files must not act in the name of the place that serves it. */
const harmless = { "content-security-policy": "sandbox; default-src 'none'", "x-content-type-options": "nosniff" };
/** Seconds an address is good for. */
const lifetime = 86_400;

/** Where an attachment is; one that is in no channel belongs to the application. */
type Place = { channelId: string; isEphemeral: boolean };

/** The address of an attachment, signed anew each time it is told, as Discord's are. */
export function attachmentUrl(world: World, { id, name }: Attachment, { channelId, isEphemeral }: Place): string {
  return addressOf(world, `/${isEphemeral ? apart : "attachments"}/${channelId}/${id}/${encodeURIComponent(name)}`);
}

/** An attachment on the wire. */
export function attachmentPayload(world: World, attachment: Attachment, place: Place) {
  const { id, name, bytes, contentType } = attachment;
  const url = attachmentUrl(world, attachment, place);
  return {
    id,
    filename: name,
    size: attachment.announcedSize ?? bytes.length,
    url: attachment.url ?? url,
    proxy_url: url,
    content_type: contentType,
    ...(place.isEphemeral && { ephemeral: true }),
  };
}

function addressOf(world: World, path: string): string {
  const issued = Math.floor(world.now() / 1000);
  const times = `ex=${(issued + lifetime).toString(16)}&is=${issued.toString(16)}`;
  return `${world.cdn.origin}${path}?${times}&hm=${sign(world, path, times)}&`;
}

function sign(world: World, path: string, times: string): string {
  return createHmac("sha256", world.cdn.secret).update(`${path}?${times}`).digest("hex");
}

function isSigned(world: World, url: URL): boolean {
  const [expires = "", issued = "", given = ""] = ["ex", "is", "hm"].map((name) => url.searchParams.get(name) ?? "");
  const wanted = Buffer.from(sign(world, url.pathname, `ex=${expires}&is=${issued}`));
  const shown = Buffer.from(given);
  return wanted.length === shown.length && timingSafeEqual(wanted, shown) && Number.parseInt(expires, 16) * 1000 > world.now();
}

interface CdnContext {
  world: World;
  faults: FaultRules;
  recorder: Recorder;
  /** Settles when hanging calls may end. */
  stopped: Promise<void>;
}

/** Serves attachments at signed addresses that expire; faults name the route as `GET /attachments/:channel/:id/:name`. */
export function mountCdn(app: Hono, { world, faults, recorder, stopped }: CdnContext): void {
  app.on("GET", ["/attachments/:channel/:id/:name", `/${apart}/:channel/:id/:name`], async (c) => {
    const url = new URL(c.req.url);
    const fault = faults.take("GET", route);
    if (fault?.hang) await stopped;
    const { channel, id } = c.req.param();
    const found = [...(world.channels.get(channel)?.messages.values() ?? [])].flatMap((message) => message.attachments);
    const attachment = url.pathname.startsWith(`/${apart}/`) ? world.files.get(id) : found.find((known) => known.id === id);
    const response = (): Response => {
      if (fault) return faultResponse(fault);
      if (attachment === undefined || !isSigned(world, url)) return c.text("This content is no longer available.", 404);
      return new Response(new Uint8Array(attachment.bytes), { headers: { ...harmless, "content-type": attachment.contentType } });
    };
    const answer = response();
    recorder.download(url.pathname, answer.status);
    return answer;
  });
  app.on("GET", "/stickers/:file", (c) => {
    const picture = world.files.get(c.req.param("file").split(".")[0] ?? "");
    recorder.download(c.req.path, picture === undefined ? 404 : 200);
    if (picture === undefined) return c.text("This content is no longer available.", 404);
    return new Response(new Uint8Array(picture.bytes), { headers: { ...harmless, "content-type": picture.contentType } });
  });
}
