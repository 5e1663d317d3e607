import type {
  APIActionRowComponent,
  APIComponentInMessageActionRow,
  APIEmbed,
  APIModalInteractionResponseCallbackData,
  AutocompleteInteraction,
  ChatInputCommandInteraction,
  ContextMenuCommandInteraction,
  MessageComponentInteraction,
  ModalSubmitInteraction,
  RESTPostAPIApplicationCommandsJSONBody,
} from "discord.js";
import type { Call } from "../kernel/call.ts";

export type SlashInteraction = ChatInputCommandInteraction<"cached" | "raw">;
/** A command of the menu on a person or a message. */
export type MenuInteraction = ContextMenuCommandInteraction<"cached" | "raw">;
/** A button or a menu of a message was used. */
export type ComponentInteraction = MessageComponentInteraction<"cached" | "raw">;
/** A form was sent. */
export type FormInteraction = ModalSubmitInteraction<"cached" | "raw">;

/** A form to fill in, as Discord takes it. */
export type Form = APIModalInteractionResponseCallbackData;
/** Buttons and menus of a message, at most five rows. */
export type Row = APIActionRowComponent<APIComponentInMessageActionRow>;

/** The options of a slash command, as discord.js resolves them. */
export type CommandOptions = SlashInteraction["options"];

export interface ReplyFile {
  name: string;
  content: string | Buffer;
}

/** What a person gets back. Texts of users go through `escapeText` first; mentions never ping. */
export interface Reply {
  /** More than 2,000 characters are cut with a note. */
  content: string;
  embeds?: readonly APIEmbed[];
  components?: readonly Row[];
  /** Only the person who asked sees it; default true. */
  ephemeral?: boolean;
  files?: readonly ReplyFile[];
}

/** Parses options, calls one verb, words the answer. Runs after the command was acknowledged, so it may take its time. */
export type Run = (options: CommandOptions, call: Call, interaction: SlashInteraction) => Promise<Reply> | Reply;

export interface Choice {
  name: string;
  value: string;
}

/** Choices for the option being typed; at most 25 are shown, and only those given within three seconds. */
export type Complete = (
  focused: { name: string; value: string },
  call: Call,
  interaction: AutocompleteInteraction<"cached" | "raw">,
) => Promise<readonly Choice[]> | readonly Choice[];

/**
 * A top-level command: its payload as data, and what runs.
 * `run` serves a slash command without sub-commands; else `subcommands` is keyed by the path after the name, such as `open` or
 * `loa start`. `menu` serves a command of the menu on a person or a message.
 * Unless the payload says otherwise, a command is for guilds only and hidden from members without administrator rights.
 */
export interface Command {
  payload: RESTPostAPIApplicationCommandsJSONBody;
  run?: Run;
  subcommands?: Readonly<Record<string, Run>>;
  menu?: (call: Call, interaction: MenuInteraction) => Promise<Reply> | Reply;
  /**
   * A form that is shown instead of running anything. Discord takes one only at once, so it is made without any look-up.
   * `call` is there where the person is known already: who may not at all is refused before they type anything.
   */
  opens?: (path: string, interaction: SlashInteraction | MenuInteraction, call: Call | undefined) => Form | undefined;
  autocomplete?: Complete;
}

/** What buttons, menus and forms do whose custom ids begin with `<name>:`; the parts after it are handed on. */
export interface Control {
  name: string;
  /** Whether the answer takes the place of the message; else it is one of its own. A refusal never takes its place. */
  updates?: (args: readonly string[]) => boolean;
  /** A form that is shown instead of running anything, made without any look-up. */
  opens?: (args: readonly string[], interaction: ComponentInteraction) => Form | undefined;
  run(args: readonly string[], call: Call, interaction: ComponentInteraction | FormInteraction): Promise<Reply> | Reply;
}
