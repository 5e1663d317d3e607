import { createActor } from "./actor.ts";
import { createGuildHandle } from "./guild-handle.ts";
import type { Message, User } from "./model.ts";
import { startServices, type SandboxOptions } from "./start.ts";
import { seedSmall, type Seeded } from "./seed.ts";
import { createGuild, type GuildOptions } from "./world-guilds.ts";
import { createUser, type UserOptions } from "./world.ts";

export type { BrowseOptions, BrowseResult, Hop } from "./browser.ts";
export type { RestFault } from "./fault-rules.ts";
export type { Faults, OAuthFault } from "./faults.ts";
export type { GuildHandle } from "./guild-handle.ts";
export type { Run, Shown } from "./interaction-run.ts";
export type { Attachment, Member, Message, Role, User } from "./model.ts";
export type { FieldValues } from "./modal-fields.ts";
export type { SandboxOptions } from "./start.ts";
export type { Upload } from "./uploads.ts";
export type { Exchange, GatewayEntry } from "./recorder.ts";
export type { Seeded } from "./seed.ts";

export type Sandbox = Awaited<ReturnType<typeof createSandbox>>;

/**
 * A local Discord on 127.0.0.1: REST, gateway and OAuth2 for one application, and a scripting interface to everybody else in that world.
 * Every bot token begins with `sandbox.`, so that it can be told from a real one.
 */
export async function createSandbox(options: SandboxOptions = {}) {
  const services = await startServices(options);
  const { port, origin, world, signal, recorder, grants, interactions, gateway, faults, stop } = services;
  const { application } = world;
  const apiBase = `${origin}/api`;
  const people = {
    createUser: (name: string, user?: UserOptions) => createUser(world, name, user),
    /** A guild; without an owner a new user owns it. `withBot: false` makes one the bot has never been in. */
    createGuild({ owner, ...rest }: GuildOptions) {
      const made = createGuild(world, { ...rest, owner: owner ?? createUser(world, `owner of ${rest.name}`) });
      return createGuildHandle(world, made);
    },
  };
  const seeded = options.seed === "small" ? seedSmall(people) : undefined;

  return {
    port,
    apiBase,
    /** The page where everything can be done by hand. */
    controlRoom: `${origin}/sandbox`,
    ...people,
    /** The seeded things by name; throws without a seed. */
    get seeded(): Seeded {
      if (!seeded) throw new Error("the sandbox was created without a seed");
      return seeded;
    },
    /** Settings of a process that is to work against this sandbox. */
    env: () => ({
      DISCORD_API_BASE: apiBase,
      DISCORD_TOKEN: application.botToken,
      DISCORD_CLIENT_ID: application.id,
      DISCORD_CLIENT_SECRET: application.clientSecret,
    }),
    /** The bot itself. */
    bot: application.bot,
    /** Adds an allowed redirect address; requests must name it exactly. */
    allowRedirect: (uri: string) => void application.redirectUris.add(uri),
    /** Sets which privileged intents the application has, as gateway intent bits; at first only the members intent. */
    setPrivilegedIntents(bits: number): void {
      application.privilegedIntents = bits;
    },
    /** A user acts: commands, buttons, consent. */
    as: (user: User) => createActor({ world, signal, interactions, origin }, user),
    /** What the bot has sent to a user directly, oldest first. */
    directMessages: (user: Pick<User, "id">): Message[] =>
      [...world.channels.values()]
        .filter(({ recipient }) => recipient?.id === user.id)
        .flatMap(({ messages }) => [...messages.values()].filter(({ author }) => author === application.bot)),
    /** Opens or closes a user's direct messages. */
    setDirectMessages: (user: User, isOpen: boolean) => void Object.assign(user, { dmsClosed: !isOpen }),
    /** The user removes the application from the authorized ones: all tokens end. */
    withdrawConsent: (user: User) => grants.endAuthorization(user),
    /** Lets a user's access tokens run out; refresh tokens stay good. */
    expireAccessTokens: (user: User) => grants.expireAccess(user),
    /** Its own parts, for tests of what no client of Discord would let pass. */
    inside: { world, signal, interactions },
    faults,
    exchanges: recorder.exchanges,
    gatewayLog: recorder.gatewayLog,
    /** Calls to addresses the sandbox does not know. */
    unhandled: recorder.unhandled,
    /** Attachments that were asked for. */
    downloads: recorder.downloads,
    /** Who called, by the User-Agent, for every HTTP request. */
    callers: recorder.callers,
    /** Tokens the application has revoked. */
    revokedTokens: grants.revokedTokens,
    /** Gateway links open now. */
    connectionCount: () => gateway.connections.size,
    /** Wait until every connected client has read what was sent to it until now. */
    caughtUp: async (): Promise<void> => void (await Promise.all([...gateway.connections].map((connection) => connection.caughtUp()))),
    /** Settles with the first truthy value of a predicate, looked at after every message on the wire and every 10 ms besides. */
    waitFor: <T>(predicate: () => T, ms = 60_000) => signal.until(predicate, ms, "the awaited fact", 10),
    stop,
  };
}
