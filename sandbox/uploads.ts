import { DiscordApiError, invalidForm } from "./errors.ts";
import type { Attachment, World } from "./model.ts";
import { textOf } from "./text.ts";

/** A file somebody hands over: the bot in a multipart form, or a person at the keyboard. */
export type Upload = { readonly name: string; readonly bytes: Buffer; readonly contentType?: string };

/** Files of a multipart form by the number in `files[n]`, and what the message has already. */
export type Uploads = { readonly files: ReadonlyMap<string, Upload>; readonly before?: readonly Attachment[] };

/** The most bytes of one file: what an interaction's `attachment_size_limit` says. */
export const maxBytes = 10_485_760;
const maxFiles = 10;

export const isUpload = (value: unknown): value is Upload =>
  typeof value === "object" && value !== null && "bytes" in value && Buffer.isBuffer(value.bytes);

/** An attachment made of a file: 40005 when it is too large. */
export function createAttachment(world: World, file: Upload & Partial<Attachment>): Attachment {
  if (file.bytes.length > maxBytes) throw new DiscordApiError(413, 40005, "Request entity too large");
  return { contentType: "application/octet-stream", ...file, id: world.nextId() };
}

/** A file given to an option or a field; it is served to the application, and is in no message. */
export function keepUpload(world: World, file: Upload): Attachment {
  const attachment = createAttachment(world, file);
  world.files.set(attachment.id, attachment);
  return attachment;
}

/**
 * The attachments a message is to have, or undefined when the call says nothing of them. `attachments` names old ones to keep by their id
 * and new ones by the number of their file; files it does not name are added.
 */
export function readAttachments(world: World, body: Record<string, unknown>, { files, before = [] }: Uploads): Attachment[] | undefined {
  const named = body["attachments"];
  if (named === undefined && files.size === 0) return undefined;
  const left = new Map(files);
  const told = (named === undefined ? before : (named ?? [])) as readonly { id?: unknown; filename?: unknown }[];
  const result = told.map(({ id: given, filename }, index) => {
    const id = textOf(given);
    const old = before.find((known) => known.id === id);
    if (old) return old;
    const file = left.get(id);
    if (!file) throw invalidForm(`attachments.${index}.id`, "ATTACHMENT_NOT_FOUND", "There is no such attachment or file.");
    left.delete(id);
    return createAttachment(world, { ...file, ...(typeof filename === "string" && { name: filename }) });
  });
  for (const file of left.values()) result.push(createAttachment(world, file));
  if (result.length > maxFiles) throw invalidForm("attachments", "BASE_TYPE_MAX_LENGTH", "Must be 10 or fewer in length.");
  return result;
}
