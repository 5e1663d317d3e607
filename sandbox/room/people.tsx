import type { APIApplicationCommand } from "discord-api-types/v10";
import type { Member, World } from "../model.ts";
import { personCommands, PersonMenu } from "./channels.tsx";
import type { View } from "./view.ts";

const pageSize = 50;

/** Every member of the page: a box for each role, the context menu, and what an owner could do to them. */
export function Members({ world, view }: { world: World; view: View }) {
  const { guild, page, language } = view;
  const all = [...guild.members.values()];
  const roles = [...guild.roles.values()].filter(({ id, botId }) => id !== guild.id && botId === null);
  const pages = Math.max(1, Math.ceil(all.length / pageSize));
  const commands = personCommands(world, view);
  return (
    <>
      <table>
        <caption>
          {guild.name}: {all.length} members, page {page + 1} of {pages}
        </caption>
        <thead>
          <tr>
            <th scope="col">Member</th>
            {roles.map(({ name }) => (
              <th scope="col">{name}</th>
            ))}
            <th scope="col">Apps</th>
            <th scope="col">Actions</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="rowgroup">Sees commands</th>
            {roles.map(({ id, name }) => (
              <td>
                <label class="box">
                  <input
                    type="checkbox"
                    id={`commands-${id}`}
                    aria-label={`Commands for ${name}`}
                    data-act="commands"
                    data-role={id}
                    checked={guild.commandRoles.has(id)}
                  />
                </label>
              </td>
            ))}
            <td />
            <td />
          </tr>
          {all.slice(page * pageSize, (page + 1) * pageSize).map((member) => (
            <Row member={member} roles={roles} menu={{ commands, language }} />
          ))}
        </tbody>
      </table>
      <p class="row">
        <Turn page={page - 1} words="Earlier members" disabled={page === 0} />
        <Turn page={page + 1} words="Later members" disabled={page + 1 >= pages} />
      </p>
    </>
  );
}

const Turn = ({ page, words, disabled }: { page: number; words: string; disabled: boolean }) => (
  <button type="button" id={`turn-${words.split(" ")[0]}`} data-page={page} disabled={disabled}>
    {words}
  </button>
);

const acts = ["kick", "ban", "leave"] as const;

type RowProps = {
  member: Member;
  roles: readonly { id: string; name: string }[];
  menu: { commands: APIApplicationCommand[]; language: string };
};

function Row({ member, roles, menu }: RowProps) {
  const { user } = member;
  return (
    <tr data-key={`member-${user.id}`}>
      <th scope="row">
        {member.nick ?? user.global_name ?? user.username} <span class="small">{user.username}</span>
      </th>
      {roles.map((role) => (
        <td>
          <label class="box">
            <input
              type="checkbox"
              id={`role-${user.id}-${role.id}`}
              aria-label={`${role.name} for ${user.username}`}
              data-act="role"
              data-user={user.id}
              data-role={role.id}
              checked={member.roles.includes(role.id)}
              disabled={user.bot}
            />
          </label>
        </td>
      ))}
      <td>
        {!user.bot && menu.commands.length > 0 && (
          <details class="menu" data-key={`person-${user.id}`}>
            <summary aria-label={`Apps for ${user.username}`}>Apps</summary>
            <ul>
              <PersonMenu user={user} {...menu} />
            </ul>
          </details>
        )}
      </td>
      <td>
        <div class="row">
          {!user.bot &&
            acts.map((act) => (
              <button type="button" id={`${act}-${user.id}`} data-act={act} data-user={user.id} aria-label={`${act} ${user.username}`}>
                {act}
              </button>
            ))}
        </div>
      </td>
    </tr>
  );
}
