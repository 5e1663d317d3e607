#!/usr/bin/env bash
# Runs the quick tier, or the tests that are named, on the Node 24 that npm brings: in a copy, as the SQLite addon is built for one version of Node.
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# PostgreSQL runs as another user where this runs as root.
chmod 755 "$copy"
mkdir "$copy/node" "$copy/provost"

npm install --prefix "$copy/node" --no-audit --no-fund --no-save --loglevel=error node@24
node=$(find "$copy/node" -path '*/node-*/bin/node' | head -n 1)
# Sources as they are here, committed or not.
git ls-files -z --cached --others --exclude-standard | xargs -0 -I{} sh -c 'test ! -e "$1" || printf "%s\0" "$1"' - {} | tar -c --null -T - | tar -x -C "$copy/provost"

document=${DISCORD_OPENAPI_SPEC:-$PWD/../shared/discord-openapi.json}
if [[ -e $document ]]; then export DISCORD_OPENAPI_SPEC=$document; fi
export PATH="$(dirname "$node"):$PATH" npm_config_nodedir="$(dirname "$(dirname "$node")")"
cd "$copy/provost"
echo "Node $(node --version)"
npm ci --no-audit --no-fund
npm test -- "$@"
