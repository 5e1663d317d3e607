import type { APIEmbed } from "discord-api-types/v10";
import type { World } from "../model.ts";
import { Text } from "./text.tsx";

const isWeb = (url: string | undefined): url is string => url !== undefined && /^https?:\/\//i.test(url);

/** An embed; its colour is a bar of its own, since a page without inline styles has no other place for it. */
export function Embed({ embed, world }: { embed: APIEmbed; world: World }) {
  const { title, url, description, fields = [], footer, author, color } = embed;
  return (
    <div class="embed">
      <svg class="bar" aria-hidden="true" focusable="false">
        <rect width="4" height="100%" fill={`#${(color ?? 0x888888).toString(16).padStart(6, "0")}`} />
      </svg>
      <div>
        {author && <p class="small">{author.name}</p>}
        {title !== undefined && <p class="title">{isWeb(url) ? <a href={url}>{title}</a> : <Text text={title} world={world} />}</p>}
        {description !== undefined && (
          <p class="text">
            <Text text={description} world={world} />
          </p>
        )}
        {fields.length > 0 && (
          <dl>
            {fields.map(({ name, value }) => (
              <div>
                <dt>
                  <Text text={name} world={world} />
                </dt>
                <dd class="text">
                  <Text text={value} world={world} />
                </dd>
              </div>
            ))}
          </dl>
        )}
        {footer && <p class="small">{footer.text}</p>}
      </div>
    </div>
  );
}
