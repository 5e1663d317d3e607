import type { Guild, Member, World } from "../model.ts";

export const pageSize = 50;
/** People offered as suggestions; anybody can be named by id. */
const maxSuggested = 200;

/** Users below `/`: every member of the page with a box for each role, and what can be done to them. */
export function Members({ guild, page }: { guild: Guild; page: number }) {
  const all = [...guild.members.values()];
  const roles = [...guild.roles.values()].filter(({ id, botId }) => id !== guild.id && botId === null);
  const pages = Math.max(1, Math.ceil(all.length / pageSize));
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
          </tr>
          {all.slice(page * pageSize, (page + 1) * pageSize).map((member) => (
            <Row member={member} roles={roles} />
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

function Row({ member, roles }: { member: Member; roles: readonly { id: string; name: string }[] }) {
  const { user } = member;
  return (
    <tr>
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

/** Suggestions of people, for fields that take one. */
export function People({ world }: { world: World }) {
  return (
    <datalist id="people">
      {[...world.users.values()].slice(0, maxSuggested).map((user) => (
        <option value={user.username}>{user.global_name ?? user.username}</option>
      ))}
    </datalist>
  );
}
