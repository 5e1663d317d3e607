import type { User } from "../../../sandbox/index.ts";
import type { World } from "../../support/world.ts";
import { actionsOf, settled } from "../../features/native-actions-ground.ts";
import { filing } from "../document.ts";
import { createPersonnel } from "../personnel.ts";
import { accept } from "../policy-cast.ts";
import { authorize } from "../world.ts";

/** More of a kind than this is forgotten, the oldest first. */
const maxKept = 40;

/** What is there to be asked about. */
export interface Records {
  owner: User;
  /** Everybody who may be named as acting. */
  actors: string[];
  /** Ids of people and places. */
  ids: string[];
  cursors: string[];
  /** @returns the address of something that is there, or of nothing. @param pick any number */
  fill(template: string, pick: number): string;
  /** Remember what an answer tells. */
  learn(asked: { status: number; template: string; path: string }, body: unknown): void;
}

const missing = "0199f3a0-0000-7000-8000-000000000000";
const numbered: Record<string, string> = { position: "0", place: "1" };
const nameless = (template: string): string => template.replaceAll(/\{\w+\}/g, "{}");

/** At least one record of every kind; the acting owner and the key of the world are none of them, so that both stay. */
export async function createRecords(world: World): Promise<Records> {
  const owner = await world.staff("owner");
  const staff = [await world.staff("admin"), await world.staff("senior"), await world.staff("moderator"), await world.staff("viewer")];
  const [person, other] = [world.member(), world.member()];
  const ids = [...staff, person, other, world.guild].map(({ id }) => id);
  const addresses = new Map<string, string[]>();
  const keep = (collection: string, address: string): void => {
    const known = [...(addresses.get(nameless(collection)) ?? []), address];
    addresses.set(nameless(collection), known.slice(-maxKept));
  };
  const make = async (path: string, body: unknown, collection = path): Promise<string> => {
    const { body: made } = await accept(world.post(path, body, { actor: owner }));
    const address = `${path}/${made.data?.id ?? made.id}`;
    keep(collection, address);
    return address;
  };

  await authorize(world, person, { by: owner });
  for (const { id } of [...staff, person, other])
    for (const root of ["/users", "/staff", "/permissions/users"]) keep(root, `${root}/${id}`);
  for (const key of ["moderator", "viewer"]) for (const root of ["/staffroles", "/permissions/roles"]) keep(root, `${root}/${key}`);
  for (const kind of ["punishment", "poach"]) keep("/workflows/policies", `/workflows/policies/${kind}`);
  keep("/problems", "/problems/rate_limited");
  keep("/channels", `/channels/${world.guild.id}`);
  world.guild.timeout(person, 60, { by: owner });
  await settled(world);
  for (const { id } of await actionsOf(world, person, owner)) keep("/native-actions", `/native-actions/${id}`);
  await make("/servers", { id: world.guild.id });
  await make("/keys", { name: "another", scopes: ["staff.read"], delegation: "trusted" });
  const listed = await make("/blacklist", { kind: "user", subject_id: person.id });
  const basis = [{ type: "admission", note: "Said so." }];
  const link = { user_id: other.id, confidence: "probable", kind: "declared_alt", basis };
  await make(`/users/${person.id}/links`, link, "/users/{}/links");
  for (const match of (await world.get(`/users/${person.id}/matches`, { actor: owner })).body.data)
    keep("/users/{}/matches", `/users/${person.id}/matches/${match.id}`);
  const quarrel = await make("/cases", { title: "A quarrel", subjects: [{ kind: "user", id: person.id }] });
  await make(`${quarrel}/notes`, { body: "Looked at it." }, "/cases/{}/notes");
  await make(`${quarrel}/actions`, { kind: "strike", points: 3, reason: "Insulted three newcomers." }, "/cases/{}/actions");
  for (const on of [quarrel, listed]) {
    const made = await accept(world.post(`${on}/evidence`, { kind: "text", note: "Three people saw it." }, { actor: owner }));
    keep("/evidence", `/evidence/${made.body.data.id}`);
  }
  for (const draft of (await world.get(`/workflows/drafts?subject=${person.id}`, { actor: owner })).body.data)
    keep("/workflows/drafts", `/workflows/drafts/${draft.id}`);
  for (const kind of ["punishment", "investigation", "recruitment"]) {
    const request = await make(`/workflows/${kind}`, filing(kind), "/workflows/{}");
    await make(`${request}/comments`, { body: "Looked at it." }, "/workflows/{}/{}/comments");
  }
  const { audit, entry, repair, callsigns } = await createPersonnel(world, owner);
  keep("/roster/audits", `/roster/audits/${audit}`);
  keep("/roster", `/roster/${entry}`);
  keep("/callsigns/repair", `/callsigns/repair/${repair}`);
  for (const callsign of callsigns) keep("/callsigns", `/callsigns/${callsign}`);
  for (const pool of ["north", "unused"]) keep("/callsigns/pools", `/callsigns/pools/${pool}`);

  const cursors: string[] = [];
  return {
    owner,
    actors: [...staff.map(({ id }) => id), person.id],
    ids,
    cursors,
    fill: function fill(template, pick): string {
      const start = template.lastIndexOf("/{");
      if (start === -1) return template;
      const end = template.indexOf("}", start) + 1;
      const known = addresses.get(nameless(template.slice(0, start)));
      const name = template.slice(start + 2, end - 1);
      const address = known?.[pick % known.length] ?? `${fill(template.slice(0, start), pick)}/${numbered[name] ?? missing}`;
      return address + template.slice(end);
    },
    learn({ status, template, path }, said) {
      const { id, data, page } = said as { id?: string; data?: { id?: string }; page?: { next_cursor: string | null } };
      const made = data?.id ?? id;
      const collection = collectionOf(status, template);
      if (typeof made === "string" && collection !== undefined)
        keep(collection, `${apart.has(collection) ? collection : path.split("?")[0]}/${made}`);
      if (typeof page?.next_cursor === "string") cursors.splice(0, cursors.length >= maxKept ? 1 : 0, page.next_cursor);
    },
  };
}

/** Collections whose records are made elsewhere. */
const apart = new Set(["/confirmations", "/evidence"]);

/** Where the record of an answer is found from then on. */
function collectionOf(status: number, template: string): string | undefined {
  if (status === 202) return "/confirmations";
  if (status !== 201) return undefined;
  if (template.endsWith("/evidence")) return "/evidence";
  return /^\/workflows\/[\w-]+$/.test(template) ? "/workflows/{}" : template;
}
