import type { Command, Run } from "../../discord/command.ts";
import type { DecisionAnswer } from "./workflows.schema.ts";
import type { WorkflowsService } from "./workflows.service.ts";

const subcommand = 1;
const stringOption = 3;
const reference = {
  type: stringOption,
  name: "reference",
  description: "Reference of the request, such as BLU-REQ-000001",
  required: true,
  max_length: 64,
} as const;

export function workflowsCommands(workflows: WorkflowsService): Command[] {
  return [
    {
      payload: {
        name: "review",
        description: "Decide requests",
        options: [
          {
            type: subcommand,
            name: "approve",
            description: "Approve a request",
            options: [
              reference,
              { type: stringOption, name: "reason", description: "Shown to the requester", required: false, max_length: 1000 },
            ],
          },
          {
            type: subcommand,
            name: "deny",
            description: "Deny a request",
            options: [
              reference,
              {
                type: stringOption,
                name: "reason",
                description: "Why; shown to the requester",
                required: true,
                min_length: 10,
                max_length: 1000,
              },
            ],
          },
        ],
      },
      subcommands: { approve: decision(workflows, "approve"), deny: decision(workflows, "deny") },
    },
  ];
}

function decision(workflows: WorkflowsService, action: string): Run {
  return async (options, call) => {
    const reason = options.getString("reason");
    const body = { decision: action, ...(reason !== null && { reason }) };
    return { content: wording(await workflows.decideByReference(call, options.getString("reference", true), body)) };
  };
}

function wording({ reference: name, status, final, approvals, effects, replayed }: DecisionAnswer): string {
  const counted = `${approvals.have.toString()} of ${approvals.required.toString()} approvals`;
  const head = final ? `**${name}** is ${status}.` : `Your vote on **${name}** counts: ${counted}.`;
  const lines = effects.map(
    (effect) => `- ${[effect.key, effect.target?.reference].filter((part) => part !== undefined).join(" ")}: ${effect.detail}`,
  );
  return [replayed === true ? `You had decided this already. ${head}` : head, ...lines].join("\n");
}
