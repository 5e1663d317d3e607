import type {
  APIEmbed,
  AutocompleteInteraction,
  ChatInputCommandInteraction,
  RESTPostAPIChatInputApplicationCommandsJSONBody,
} from "discord.js";
import type { Call } from "../kernel/call.ts";

export type SlashInteraction = ChatInputCommandInteraction<"cached" | "raw">;

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
 * A top-level slash command: its payload as data, and what runs.
 * `run` serves a command without sub-commands; else `subcommands` is keyed by the path after the name, such as `open` or `loa start`.
 * Unless the payload says otherwise, a command is for guilds only and hidden from members without administrator rights.
 */
export interface Command {
  payload: RESTPostAPIChatInputApplicationCommandsJSONBody;
  run?: Run;
  subcommands?: Readonly<Record<string, Run>>;
  autocomplete?: Complete;
}
