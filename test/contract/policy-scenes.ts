import type { User } from "../../sandbox/index.ts";
import type { Answer, AskOptions, World } from "../support/world.ts";
import { filing, freshId } from "./document.ts";
import type { Caller } from "./policy.ts";
import { accept, type Person } from "./policy-cast.ts";
import { holds } from "./policy-fields.ts";
import { authorize } from "./world.ts";

type Body = Answer["body"];

/** A record with every field that can be left out, and a way to look at it. */
export interface Scene {
  resource: string;
  /** The line of the table of routes it is read by. */
  route: string;
  /** The kind of request that a permission depends on. */
  type?: string;
  ask(world: World, caller: AskOptions): Promise<Answer>;
  pick(body: Body): Body;
  /** The person it is about, who asks as well. */
  about?: string;
  /** Those who ask; everybody unless told. */
  isAsked?(caller: Caller, person: Person): boolean;
  /** What else may decide what is seen. */
  dependsOn?: string[];
  /** Who sees what the table gives to no permission. */
  isSeen?(caller: Caller): boolean;
  /** Whether what is left out is named; it is unless told. */
  isSilent?: boolean;
}

/** The people scenes are about. */
interface Ground {
  owner: User;
  quarry: string;
  rogue: User;
  helper: string;
  suspended: string;
  recruitment: string;
  /** An application whose interview was amended. */
  amended: string;
  listing: string;
  /** A request about the blacklist whose reason was amended. */
  reworded: string;
  /** Who filed the requests. */
  author: string;
  confirmation: string;
  /** Another account of the rogue, listed. */
  alias: string;
}

/** Write every record the scenes show. */
export async function createGround(world: World, people: readonly Person[]): Promise<Ground> {
  const idOf = (name: string): string => people.find((person) => person.name === name)?.id ?? "";
  const [owner, admin, moderator] = [await world.staff("owner"), await world.staff("admin"), await world.staff("moderator")];
  const [rogue, helper, suspended] = [world.member("rogue"), idOf("staff without a level"), idOf("suspended moderator")];
  const quarry = world.sandbox.createGuild({ name: "Quarry", withBot: false });
  quarry.addMember(rogue);
  await authorize(world, rogue, { by: moderator });

  const common = { reason: "Three raids this month.", ticketNo: 7 };
  const application = { user_id: world.member("recruit").id, position: "moderator", interview: { score: 80, notes: "calm" }, ...common };
  const server = { server_id: quarry.id, server_name: "Quarry", category: "raiding", severity: "high", member_policy: "flag", ...common };
  const file = async (kind: string, body: object, deciders: readonly User[]): Promise<string> => {
    const { reference } = (await accept(world.post(`/workflows/${kind}`, body, { actor: moderator }))).body;
    for (const actor of deciders) await accept(world.post(`/workflows/${kind}/${reference}/decision`, word, { actor }));
    return reference;
  };
  const recruitment = await file("recruitment", application, [owner]);
  const amended = await file("recruitment", { ...application, user_id: freshId() }, []);
  const change = { payload: { interview: { score: 90, notes: "very calm" } }, reason_internal: "For the deciders." };
  await accept(world.patch(`/workflows/recruitment/${amended}`, change, { actor: owner }));
  const reversal = { decision: "reverse", reason: "It was the wrong person.", reason_internal: "For the deciders." };
  await accept(world.post(`/workflows/recruitment/${recruitment}/decision`, reversal, { actor: admin }));
  for (const decision of ["escalate", "hold"])
    await accept(
      world.post(`/workflows/recruitment/${amended}/decision`, { decision, reason: "It needs another look." }, { actor: owner }),
    );
  const listing = await file("blacklist-server", server, [admin, owner]);
  const reworded = await file("blacklist-server", { ...server, server_id: freshId(), exempt_user_ids: [helper] }, []);
  const reasons = { payload: { reason: "Organised the raid of March.", exempt_user_ids: [] }, reason_internal: "For the deciders." };
  await accept(world.patch(`/workflows/blacklist-server/${reworded}`, reasons, { actor: owner }));

  const harbour = freshId();
  await accept(world.post("/servers", { id: harbour }, { actor: owner }));
  const registered = { id: quarry.id, note: "Not to be trusted.", invite_code: "quarry", owner_user_id: rogue.id };
  await accept(world.post("/servers", registered, { actor: owner }));
  await accept(world.patch(`/servers/${quarry.id}`, { status: "merged", merged_into: harbour }, { actor: owner }));
  const alias = freshId();
  await accept(world.post("/blacklist", { kind: "user", subject_id: alias }, { actor: owner }));
  const link = { user_id: alias, confidence: "confirmed", kind: "declared_alt", basis: [{ type: "admission", note: "Said so." }] };
  await accept(world.post(`/users/${rogue.id}/links`, link, { actor: owner }));
  const secret = { reason_internal: "For few eyes.", exempt_user_ids: [rogue.id] };
  await accept(world.patch("/blacklist/BL-000001", secret, { actor: owner }));
  const hours = { timezone: "UTC", quiet_hours: [{ from: "22:00", to: "07:00" }] };
  await accept(world.patch(`/staff/${helper}`, hours, { actor: owner }));
  await accept(world.post(`/staff/${helper}/loa`, { reason: "Away for a while.", duration: "30d" }, { actor: owner }));
  const entry = { key: "blacklist.export", effect: "deny", reason: "Not for now." };
  await accept(world.patch(`/permissions/users/${helper}`, { overrides: [entry] }, { actor: owner }));
  const grave = { key: "staff.suspend", effect: "allow", reason: "Covers for a colleague." };
  const held = await accept(world.patch(`/permissions/users/${helper}`, { overrides: [grave] }, { actor: admin }));
  await accept(world.post("/roster", { user_id: helper, reason: "Helps out.", notes: "Works by night." }, { actor: owner }));
  return {
    owner,
    quarry: quarry.id,
    rogue,
    helper,
    suspended,
    recruitment,
    amended,
    listing,
    reworded,
    author: moderator.id,
    confirmation: held.body.data.id,
    alias,
  };
}

const word = { decision: "approve", reason: "Clear enough.", reason_internal: "For the deciders." };
const data = (body: Body): Body => body.data;
const first = (body: Body): Body => body.data[0];

/** Every resource with fields that are not for all of its readers. */
export function scenesOf(ground: Ground): Scene[] {
  const { owner, quarry, rogue, helper, suspended, recruitment, amended, listing, reworded, author, confirmation, alias } = ground;
  const read = (resource: string, route: string, path: string, pick = data): Scene => {
    return { resource, route: `GET ${route}`, ask: (world, caller) => world.get(path, caller), pick };
  };
  return [
    read("AuditEntry", "/audit", "/audit?action=blacklist.update", first),
    read("AuthorizationStatus", "/users/{discord_user_id}/authorization", `/users/${rogue.id}/authorization`),
    read("BlacklistRecord", "/blacklist/{id}", "/blacklist/BL-000001"),
    read("BlacklistRecord", "/blacklist", `/blacklist?subject=${quarry}`, first),
    read("BlacklistRecord", "/blacklist/changes", "/blacklist/changes?kind=server", (body) => body.data[0].record),
    read("BlacklistRecord", "/blacklist/{id}/history", "/blacklist/BL-000001/history", (body) => body.data[0].record),
    {
      resource: "CheckedRecord",
      route: "POST /blacklist/check",
      ask: (world, caller) => world.post("/blacklist/check", { server_ids: [quarry] }, caller),
      pick: (body) => body.data.servers[0].records[0],
    },
    {
      resource: "CheckedRecord",
      route: "POST /blacklist/check",
      ask: (world, caller) => world.post("/blacklist/check", { user_ids: [alias] }, caller),
      pick: (body) => body.data.users[0].records[0],
    },
    {
      ...read("Confirmation", "/confirmations/{id}", `/confirmations/${confirmation}`),
      isAsked: (caller) => holds(caller, "audit.read"),
      dependsOn: ["audit.read", "permissions.users.manage", "staff.suspend"],
      isSeen: (caller) => caller.actor !== null && ["permissions.users.manage", "staff.suspend"].every((one) => holds(caller, one)),
    },
    { ...read("Health", "/health", "/health", (body) => body), isSilent: true },
    read("Match", "/users/{discord_user_id}/matches", `/users/${rogue.id}/matches?kind=server_blacklist`, first),
    read("MatchOfAccount", "/users/{discord_user_id}/matches", `/users/${rogue.id}/matches?kind=alt_of_blacklisted`, first),
    { ...read("RosterEntry", "/roster/{id}", `/roster/${helper}`), about: helper },
    { ...read("RosterEntry", "/roster", `/roster?q=${helper}`, first), about: helper },
    { ...read("RosterHistoryLine", "/roster/history", `/roster/history?user_id=${helper}`, first), about: helper },
    read("Server", "/servers/{id}", `/servers/${quarry}`),
    read("Server", "/servers", `/servers?q=${quarry}`, first),
    { ...read("StaffProfile", "/staff/{discord_user_id}/profile", `/staff/${helper}/profile`), about: helper },
    { ...read("UserPermissions", "/permissions/users/{discord_user_id}", `/permissions/users/${helper}`), about: helper },
    { ...read("UserPermissions", "/permissions/users/{discord_user_id}", `/permissions/users/${suspended}`), about: suspended },
    read("UserServer", "/users/{discord_user_id}/servers", `/users/${rogue.id}/servers`, (body) =>
      body.data.find(({ server }: Body) => server.id === quarry),
    ),
    { ...read("Workflow", "/workflows/{type}/{id}", `/workflows/recruitment/${recruitment}`), type: "recruitment" },
    { ...read("Workflow", "/workflows/{type}/{id}", `/workflows/recruitment/${amended}`), type: "recruitment" },
    { ...read("Workflow", "/workflows/{type}/{id}", `/workflows/blacklist-server/${listing}`), type: "blacklist-server", about: author },
    { ...read("Workflow", "/workflows", "/workflows?type=blacklist-server", first), type: "blacklist-server", about: author },
    {
      ...read("WorkflowStep", "/workflows/{type}/{id}/history", `/workflows/recruitment/${amended}/history`, (body) => body.data[1]),
      type: "recruitment",
    },
    {
      ...read("WorkflowStep", "/workflows/{type}/{id}/history", `/workflows/blacklist-server/${reworded}/history`, (body) => body.data[1]),
      type: "blacklist-server",
      about: author,
    },
    {
      resource: "WorkflowCreated",
      route: "POST /workflows/investigation",
      ask: fileAnother,
      pick: (body) => body,
      isAsked: (_caller, { name }) => ["viewer", "moderator", "owner"].includes(name),
    },
    {
      resource: "WorkflowDecided",
      route: "POST /workflows/{type}/{website_id}/decision",
      type: "blacklist-server",
      // The same decision again answers what it led to.
      ask: (world, { key }) =>
        world.post(`/workflows/blacklist-server/${listing}/decision`, word, { actor: owner, ...(key !== undefined && { key }) }),
      pick: (body) => body,
      isAsked: (_caller, { name }) => name === "owner",
    },
  ];
}

/** File about somebody about whom another request is open. */
async function fileAnother(world: World, caller: AskOptions): Promise<Answer> {
  const userId = freshId();
  const other = await world.staff("owner");
  await accept(world.post("/workflows/punishment", { ...filing("punishment"), user_id: userId }, { actor: other }));
  return world.post("/workflows/investigation", { ...filing("investigation"), subject: { kind: "user", id: userId } }, caller);
}
