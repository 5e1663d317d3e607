import { ComponentType } from "discord-api-types/v10";
import type { Component } from "../components.ts";
import type { Modal } from "../interaction.ts";
import type { Guild } from "../model.ts";
import { ComponentField } from "./field.tsx";
import { Text } from "./text.tsx";

/** The form of a modal; what is wrong with what was filled in is said above its buttons. */
export function ModalForm({ modal, guild, run }: { modal: Modal; guild: Guild; run: string }) {
  return (
    <form data-form="submit" data-run={run}>
      <h2 id="modal-title">{modal.title}</h2>
      {modal.components.map((part) => (
        <Part part={part} guild={guild} />
      ))}
      <p id="modal-said" role="alert" />
      <p class="row">
        <button type="submit" class="primary" id="modal-send">
          Submit
        </button>
        <button type="button" id="modal-cancel" data-close="modal">
          Cancel
        </button>
      </p>
    </form>
  );
}

function Part({ part, guild }: { part: Component; guild: Guild }) {
  if (part.type === ComponentType.TextDisplay)
    return (
      <p class="text">
        <Text text={part.content ?? ""} />
      </p>
    );
  const field = part.component ?? part.components?.[0];
  if (!field) return null;
  const { custom_id: id, required = true } = field;
  const label = `${part.label ?? field.label ?? id ?? ""}${required ? " (required)" : ""}`;
  return <ComponentField component={field} guild={guild} id={`field-${id}`} name={`v:${id}`} label={label} hint={part.description} />;
}
