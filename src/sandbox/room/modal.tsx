import { ComponentType } from "discord-api-types/v10";
import type { Component } from "../components.ts";
import type { Modal } from "../interaction.ts";
import type { Guild } from "../model.ts";
import { ComponentField } from "./field.tsx";
import { Text } from "./text.tsx";

/** The form of a modal. */
export function ModalForm({ modal, guild, run }: { modal: Modal; guild: Guild; run: string }) {
  return (
    <form data-form="submit" data-run={run}>
      <h2 id="modal-title">{modal.title}</h2>
      {modal.components.map((part) => (
        <Part part={part} guild={guild} />
      ))}
      <p class="row">
        <button type="submit" class="primary" id="modal-send">
          Submit
        </button>
        <button type="button" id="modal-cancel" data-act="dismiss" data-run={run}>
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
  const name = part.label ?? field.label ?? field.custom_id ?? "";
  return (
    <>
      <ComponentField component={field} guild={guild} id={`field-${field.custom_id}`} name={`v:${field.custom_id}`} label={name} />
      {part.description && <p class="small">{part.description}</p>}
    </>
  );
}
