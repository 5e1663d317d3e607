import { isEphemeral } from "./message-payload.ts";
import type { Attachment, Message, World } from "./model.ts";
import { attachmentUrl } from "./cdn.ts";

/** A file of a message as a person has it. */
export type ShownFile = Pick<Attachment, "id" | "name" | "contentType" | "bytes"> & {
  readonly size: number;
  /** The bytes as UTF-8. */
  readonly text: string;
  /** Where it is served, for a day. */
  readonly url: string;
};

/** The files of a message, with what is in them. */
export const filesOf = (world: World, message: Message): ShownFile[] =>
  message.attachments.map((attachment) => ({
    id: attachment.id,
    name: attachment.name,
    contentType: attachment.contentType,
    bytes: attachment.bytes,
    size: attachment.bytes.length,
    text: attachment.bytes.toString(),
    url: attachmentUrl(world, attachment, { channelId: message.channelId, isEphemeral: isEphemeral(message) }),
  }));
