import { because, nowhere, why, type Case, type Scene } from "./scene.ts";

const links = ({ id }: Scene["ann"]): string => `/users/${id}/links`;
const link = ({ ann, kept }: Scene): string => `${links(ann)}/${kept["link"] ?? ""}`;
const address = { reason: "Both came from 192.0.2.7" };

/** A link that is said of two people, with all that is known of it. */
const linked = ({ ann, bob }: Scene) => ({
  user: ann,
  other: bob,
  confidence: "probable",
  kind: "declared_alt",
  basis: "admission",
  main: bob,
  "review-after": "30d",
});

export const alts: readonly Case[] = [
  {
    entry: "alts add",
    by: "senior",
    before: async ({ world, owner, ann }) => {
      const { status } = await world.post("/blacklist", { kind: "user", subject_id: ann.id }, { actor: owner });
      if (status !== 201) throw new Error(`not listed: ${status.toString()}`);
    },
    given: (scene) => ({ ...linked(scene), propagates: true }),
    form: why,
    http: ({ ann, bob }) => [
      "POST",
      links(ann),
      {
        user_id: bob.id,
        confidence: "probable",
        kind: "declared_alt",
        basis: [{ type: "admission", note: because }],
        primary_user_id: bob.id,
        propagates: true,
        review_after: "30d",
      },
    ],
    wrong: {
      given: ({ ann, bob }) => ({ user: ann, other: bob, confidence: "suspected", kind: "declared_alt", propagates: true, ...address }),
      http: ({ ann, bob }) => [
        "POST",
        links(ann),
        {
          user_id: bob.id,
          confidence: "suspected",
          kind: "declared_alt",
          propagates: true,
          basis: [{ type: "other", note: address.reason }],
        },
      ],
    },
  },
  {
    entry: "alts add",
    given: ({ ann, senior }) => ({ user: ann, other: senior, confidence: "suspected", kind: "shared_account", reason: because }),
    http: ({ ann, senior }) => [
      "POST",
      links(ann),
      { user_id: senior.id, confidence: "suspected", kind: "shared_account", basis: [{ type: "other", note: because }] },
    ],
    wrong: {
      given: ({ ann, bob }) => ({ user: ann, other: bob, confidence: "suspected", kind: "shared_account", reason: because }),
      http: ({ ann, bob }) => [
        "POST",
        links(ann),
        { user_id: bob.id, confidence: "suspected", kind: "shared_account", basis: [{ type: "other", note: because }] },
      ],
    },
  },
  {
    entry: "alts list",
    by: "senior",
    given: ({ ann }) => ({ user: ann, confidence: "probable" }),
    http: ({ ann }) => ["GET", `${links(ann)}?limit=10&confidence=probable`],
  },
  {
    entry: "alts edit",
    by: "admin",
    before: async ({ world, owner, ann, kept }) => {
      const { body } = await world.get(`${links(ann)}?confidence=probable`, { actor: owner });
      kept["link"] = body.data[0].id;
    },
    given: ({ ann, bob }) => ({
      user: ann,
      other: bob,
      confidence: "confirmed",
      propagates: true,
      main: ann,
      "review-after": "90d",
      basis: "behaviour",
    }),
    form: why,
    http: (scene) => [
      "PATCH",
      link(scene),
      {
        confidence: "confirmed",
        propagates: true,
        primary_user_id: scene.ann.id,
        review_after: "90d",
        add_basis: [{ type: "behaviour", note: because }],
        ...why(),
      },
    ],
    wrong: {
      given: ({ ann, bob }) => ({ user: ann, other: bob, confidence: "suspected", propagates: true, "review-after": "soon", ...address }),
      http: (scene) => ["PATCH", link(scene), { confidence: "suspected", propagates: true, review_after: "soon", ...address }],
    },
  },
  {
    entry: "alts show",
    by: "senior",
    given: ({ bob }) => ({ user: bob }),
    http: ({ bob }) => ["GET", `${links(bob)}/group`],
  },
  {
    entry: "alts unlink",
    by: "senior",
    given: ({ ann, bob }) => ({ user: ann, other: bob }),
    form: why,
    http: (scene) => ["DELETE", link(scene), why()],
    wrong: {
      given: ({ ann, bob }) => ({ user: ann, other: bob }),
      form: () => ({ reason: "   " }),
      http: (scene) => ["DELETE", link(scene), { reason: "   " }],
    },
  },
  {
    entry: "alts unlink",
    given: ({ ann, senior }) => ({ user: ann, other: senior, reason: because }),
    before: async ({ world, owner, ann, kept }) => {
      kept["link"] = (await world.get(links(ann), { actor: owner })).body.data[0].id;
    },
    http: (scene) => ["DELETE", link(scene), why()],
    wrong: {
      given: ({ ann, admin }) => ({ user: ann, other: admin, reason: because }),
      http: ({ ann }) => ["DELETE", `${links(ann)}/${nowhere}`, why()],
    },
  },
  {
    entry: "alts list",
    given: ({ ann }) => ({ user: ann, status: "ended" }),
    http: ({ ann }) => ["GET", `${links(ann)}?limit=10&status=ended`],
  },
  {
    entry: "alts link",
    by: "senior",
    given: linked,
    form: why,
    http: ({ ann, bob }) => [
      "POST",
      "/workflows/alt-request",
      {
        user_ids: [ann.id, bob.id],
        confidence: "probable",
        kind: "declared_alt",
        basis: [{ type: "admission", note: because }],
        primary_user_id: bob.id,
        review_after: "30d",
        ...why(),
      },
    ],
    wrong: {
      given: ({ ann }) => ({ user: ann, other: ann, confidence: "probable", "review-after": "soon", ...address }),
      http: ({ ann }) => [
        "POST",
        "/workflows/alt-request",
        {
          user_ids: [ann.id, ann.id],
          confidence: "probable",
          review_after: "soon",
          basis: [{ type: "other", note: address.reason }],
          ...address,
        },
      ],
    },
  },
];
