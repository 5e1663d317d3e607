import { fileURLToPath } from "node:url";
import {
  isBinaryExpression,
  isCallExpression,
  isConditionalExpression,
  isIdentifier,
  isImportDeclaration,
  isNewExpression,
  isNoSubstitutionTemplateLiteral,
  isParenthesizedExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTemplateExpression,
  isTypeNode,
  isVariableDeclaration,
  SyntaxKind,
  type Expression,
  type Node,
  type SourceFile,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

/** A sentence that stands in a source. What is computed in it is `{name}`; each branch of a condition is a sentence of its own. */
export interface SourceSentence {
  path: string;
  line: number;
  /** What it stands in, the outermost first, such as `new ProblemError` and `detail:`. */
  around: readonly string[];
  text: string;
}

const root = fileURLToPath(new URL("../../", import.meta.url));
/** Words that begin like a sentence and end like one. */
const sentence = /^["“]?[A-Z\d{][^]* [^]*[.!?]$/;

/** The sentences in sources of the project. @param isWanted decides by the path from the project's root */
export function sourceSentences(isWanted: (path: string) => boolean): SourceSentence[] {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: `${root}tsconfig.json` }).getProjects();
    return (project?.rootFiles ?? []).flatMap((file) => {
      const path = file.replace(root, "");
      const source = isWanted(path) ? project?.program.getSourceFile(file) : undefined;
      return source === undefined ? [] : sentencesOf(path, source);
    });
  } finally {
    api.close();
  }
}

function sentencesOf(path: string, source: SourceFile): SourceSentence[] {
  const found: SourceSentence[] = [];
  let constants: ReadonlyMap<string, string[]> = new Map();

  function visit(node: Node, around: readonly string[]): void {
    if (isImportDeclaration(node) || isTypeNode(node)) return;
    if (isText(node)) {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      for (const text of readings(node)) if (sentence.test(text)) found.push({ path, line, around, text });
      if (isTemplateExpression(node)) for (const { expression } of node.templateSpans) visit(expression, around);
      return;
    }
    const name = nameOf(node);
    const inner = name === undefined ? around : [...around, name];
    node.forEachChild((child) => visit(child, inner));
  }

  function nameOf(node: Node): string | undefined {
    if (isPropertyAssignment(node)) return `${node.name.getText(source)}:`;
    if (isCallExpression(node)) return node.expression.getText(source).split(".").at(-1);
    return isNewExpression(node) ? `new ${node.expression.getText(source)}` : undefined;
  }

  /** Everything that a text can read as. */
  function readings(node: Expression): string[] {
    if (isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node)) return [node.text];
    if (isParenthesizedExpression(node)) return readings(node.expression);
    if (isConditionalExpression(node)) return [...readings(node.whenTrue), ...readings(node.whenFalse)];
    if (isTemplateExpression(node))
      return node.templateSpans.reduce<string[]>(
        (texts, { expression, literal }) => joined(texts, readings(expression), literal.text),
        [node.head.text],
      );
    if (isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.PlusToken)
      return joined(readings(node.left), readings(node.right));
    return (isIdentifier(node) ? constants.get(node.text) : undefined) ?? [`{${/(\w+)\W*$/.exec(node.getText(source))?.[1] ?? "value"}}`];
  }

  /** What constants of the source read as that depend on a condition. */
  function constantsOf(file: SourceFile): ReadonlyMap<string, string[]> {
    const texts = new Map<string, string[]>();
    const look = (node: Node): void => {
      if (isVariableDeclaration(node) && isIdentifier(node.name) && node.initializer !== undefined && isChoice(node.initializer))
        texts.set(node.name.text, readings(node.initializer));
      node.forEachChild(look);
    };
    look(file);
    return texts;
  }

  constants = constantsOf(source);
  visit(source, []);
  return found;
}

const joined = (starts: readonly string[], ends: readonly string[], last = ""): string[] =>
  starts.flatMap((start) => ends.map((end) => start + end + last));

function isText(node: Node): node is Expression {
  return isLiteral(node) || isTemplateExpression(node) || isSum(node);
}

const isLiteral = (node: Node) => isStringLiteral(node) || isNoSubstitutionTemplateLiteral(node);

function isSum(node: Node): boolean {
  return isBinaryExpression(node) && node.operatorToken.kind === SyntaxKind.PlusToken && (isText(node.left) || isText(node.right));
}

/** A condition whose branches are texts. */
function isChoice(node: Expression): boolean {
  return isConditionalExpression(node) && [node.whenTrue, node.whenFalse].every((branch) => isText(branch) || isChoice(branch));
}
