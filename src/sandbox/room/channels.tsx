import { ApplicationCommandType } from "discord-api-types/v10";
import type { Channel, Guild, User, World } from "../model.ts";
import { MessageView } from "./message.tsx";

const mostMessages = 30;

const newest = ({ messages }: Channel) => [...messages.values()].slice(-mostMessages);

/** The channels of a guild with their last messages, and a line to write in. */
export function Channels({ world, guild }: { world: World; guild: Guild }) {
  const menus = [...guild.commands.values(), ...world.application.commands.values()].filter(
    ({ type }) => type === ApplicationCommandType.Message,
  );
  return (
    <>
      {[...guild.channels.values()].map((channel) => (
        <section aria-label={`channel ${channel.name}`}>
          <h3>#{channel.name}</h3>
          {newest(channel).map((message) => (
            <>
              <MessageView message={message} place={{ world, guild }} />
              <p class="row">
                {menus.map(({ name }) => (
                  <button
                    type="button"
                    id={`use-${message.id}-${name}`}
                    data-act="menu"
                    data-command={name}
                    data-message={message.id}
                    data-channel={channel.id}
                  >
                    {name}
                  </button>
                ))}
                <button type="button" id={`delete-${message.id}`} data-act="delete" data-message={message.id} data-channel={channel.id}>
                  Delete
                </button>
              </p>
            </>
          ))}
          <form data-form="post" data-channel={channel.id}>
            <label for={`post-${channel.id}`}>Message to #{channel.name}</label>
            <input id={`post-${channel.id}`} name="content" autocomplete="off" />
            <button type="submit" id={`post-${channel.id}-send`}>
              Send
            </button>
          </form>
        </section>
      ))}
    </>
  );
}

/** What the bot has sent to a person. */
export function Directs({ world, user }: { world: World; user: User }) {
  const messages = [...world.channels.values()].filter(({ recipient }) => recipient === user).flatMap(newest);
  if (messages.length === 0) return <p>The bot has sent {user.username} nothing.</p>;
  return (
    <>
      {messages.map((message) => (
        <MessageView message={message} place={{ world }} />
      ))}
    </>
  );
}
