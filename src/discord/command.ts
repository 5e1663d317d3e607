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
/** A command in the context menu of a person or a message. */
export type MenuInteraction = ContextMenuCommandInteraction<"cached" | "raw">;
/** The use of a button or a select menu of a message. */
export type ComponentInteraction = MessageComponentInteraction<"cached" | "raw">;
/** The submission of a form. */
export type FormInteraction = ModalSubmitInteraction<"cached" | "raw">;

/** A form (Discord's modal). */
export type Form = APIModalInteractionResponseCallbackData;
/** The form to show, if any. */
export type Opened = Promise<Form | undefined> | Form | undefined;
/** A row of buttons or select menus; a message has at most five. */
export type Row = APIActionRowComponent<APIComponentInMessageActionRow>;

/** The options of a slash command, as discord.js resolves them. */
export type CommandOptions = SlashInteraction["options"];

export interface ReplyFile {
  name: string;
  content: string | Buffer;
}

/** The reply to a person. Texts of users have to go through `escapeText` first; mentions never ping. */
export interface Reply {
  /** More than 2,000 characters are cut with a note. */
  content: string;
  embeds?: readonly APIEmbed[];
  components?: readonly Row[];
  /** Whether only the person who used the command sees it; default true. */
  ephemeral?: boolean;
  files?: readonly ReplyFile[];
  /**
   * What takes the place of a private reply once more is known; undefined: nothing does. Discord takes edits for 15 minutes after the command,
   * so it has to end within that by itself.
   */
  next?: () => Promise<Reply | undefined>;
}

/** Parses the options, calls one service method and makes the reply. Runs after the command was acknowledged, so there is no hurry. */
export type Run = (options: CommandOptions, call: Call, interaction: SlashInteraction) => Promise<Reply> | Reply;

export interface Choice {
  name: string;
  value: string;
}

/** Choices for the option being typed; at most 25 are shown, and only if they come within three seconds. */
export type Complete = (
  focused: { name: string; value: string },
  call: Call,
  interaction: AutocompleteInteraction<"cached" | "raw">,
) => Promise<readonly Choice[]> | readonly Choice[];

/**
 * A top-level command: its payload and its handlers.
 * `run` serves a slash command without sub-commands; else `subcommands` is keyed by the path after the name, such as `open` or
 * `loa start`. `menu` serves a command in the context menu of a person or a message.
 * Unless the payload says otherwise, a command is for guilds only and hidden from members without administrator rights.
 */
export interface Command {
  payload: RESTPostAPIApplicationCommandsJSONBody;
  run?: Run;
  subcommands?: Readonly<Record<string, Run>>;
  menu?: (call: Call, interaction: MenuInteraction) => Promise<Reply> | Reply;
  /**
   * A form to show instead of running a handler. Discord takes a form only as the first answer and within three seconds, so look-ups for
   * it have to end early. @param call finds the person, who then can be refused before they type anything
   */
  opens?: (path: string, interaction: SlashInteraction | MenuInteraction, call: () => Promise<Call>) => Opened;
  autocomplete?: Complete;
}

/** Handles buttons, menus and forms whose custom ids begin with `<name>:`; the parts after it are the `args`. */
export interface Control {
  name: string;
  /** Whether the answer replaces the message; otherwise it is a new message. A refusal never replaces it. */
  updates?: (args: readonly string[]) => boolean;
  /** A form to show instead of running `run`, as of a command. */
  opens?: (args: readonly string[], interaction: ComponentInteraction, call: () => Promise<Call>) => Opened;
  run(args: readonly string[], call: Call, interaction: ComponentInteraction | FormInteraction): Promise<Reply> | Reply;
}
